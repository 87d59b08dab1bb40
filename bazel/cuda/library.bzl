"""cuda_library: .cu files compiled by nvcc into a cc_library."""

load("@cuda//:defs.bzl", "CUDA_FOUND", "CUDA_HOME")
load("//bazel:cc.bzl", "cc_library")

def _gencode(architectures):
    return " ".join([
        "-gencode arch=compute_%d,code=sm_%d" % (arch, arch)
        for arch in architectures
    ])

# Bundles are for A100 (sm_80) and H100/H200 (sm_90); other builds need nvcc's
# verdict on the code, once.
_GENCODE = select({
    "//bazel/cuda:every_architecture": [_gencode([80, 90])],
    "//conditions:default": [_gencode([90])],
})

# Translated PTX: each instruction rounds by itself, integers wrap around, and
# its threads' stacks are not the compiler's.
_PTX_COPTS = [
    "-w",
    "-O1",
    "-mfma",
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-stack-protector",
    "-fno-stack-clash-protection",
    "-fcf-protection=none",
    "-fno-sanitize=all",
]

def _nvcc_impl(ctx):
    headers = depset(
        ctx.files.hdrs,
        transitive = [dep[CcInfo].compilation_context.headers for dep in ctx.attr.deps],
    )
    ctx.actions.run_shell(
        inputs = depset([ctx.file.src], transitive = [headers]),
        outputs = [ctx.outputs.out],
        command = " ".join(
            [CUDA_HOME + "/bin/nvcc -O3 -std=c++17 -I. -I" + ctx.bin_dir.path,
             "--extended-lambda --Werror all-warnings",
             "-Xcompiler -fPIC,-Wall,-Wextra,-Werror"] +
            ctx.attr.nvcc_copts +
            [ctx.file.src.path, "-o", ctx.outputs.out.path],
        ),
        mnemonic = "Nvcc",
        progress_message = "Compiling %{input} by nvcc",
        use_default_shell_env = True,
    )

_nvcc = rule(
    implementation = _nvcc_impl,
    attrs = {
        "src": attr.label(allow_single_file = [".cu"]),
        "hdrs": attr.label_list(allow_files = True),
        "deps": attr.label_list(providers = [CcInfo]),
        "nvcc_copts": attr.string_list(),
        "out": attr.output(),
    },
)

def _ptx_library(name, srcs, device_hdrs, deps, nvcc_copts):
    """Kernels as C++, for tests that link //tests/ptx."""
    translated = []
    for src in srcs if CUDA_FOUND else []:
        ptx = src[:-len(".cu")] + ".ptx"
        _nvcc(
            name = ptx + "_nvcc",
            testonly = 1,
            src = src,
            hdrs = device_hdrs,
            deps = deps,
            nvcc_copts = ["-ptx", "-lineinfo", _gencode([90])] + nvcc_copts,
            out = ptx,
        )
        native.genrule(
            name = ptx + "_translated",
            testonly = 1,
            srcs = [ptx],
            outs = [ptx + ".cc"],
            cmd = "python3 $(location //tests/ptx:translate.py) $< $@",
            tools = ["//tests/ptx:translate.py"],
        )
        translated.append(ptx + ".cc")
    native.cc_library(
        name = name,
        testonly = 1,
        srcs = translated,
        copts = _PTX_COPTS,
        deps = ["//tests/ptx:thread"] if CUDA_FOUND else [],
        visibility = ["//tests:__subpackages__"],
        alwayslink = 1,
    )

def cuda_library(
        name,
        hdrs,
        srcs,
        device_hdrs = [],
        host_srcs = [],
        deps = [],
        cuda_deps = [],
        nvcc_copts = [],
        alwayslink = 0,
        visibility = None):
    """A library with device code where there is a toolkit; else its headers.

    NAME_ptx has the kernels for tests that run them on the CPU
    (tests/ptx/README.md).

    Args:
      name: the library.
      hdrs: its headers, free of CUDA types if something without CUDA includes
        them.
      srcs: .cu files.
      device_hdrs: headers that only the .cu files include. Labels of other
        packages' files, or of filegroups, too.
      host_srcs: .cc files of the library, which may include CUDA's headers.
      deps: cc_library targets.
      cuda_deps: those that only the build with CUDA needs.
      nvcc_copts: more options for nvcc.
      alwayslink: as of cc_library; for .cu files that register something.
      visibility: of the library.
    """
    seen = device_hdrs + [header for header in hdrs if header not in device_hdrs]
    _ptx_library(name + "_ptx", srcs, seen, deps + cuda_deps, nvcc_copts)
    if not CUDA_FOUND:
        cc_library(
            name = name,
            hdrs = hdrs,
            deps = deps if hdrs else [],
            visibility = visibility,
        )
        return
    objects = []
    for src in srcs:
        out = src[:-len(".cu")] + ".cu.o"
        _nvcc(
            name = out + "_nvcc",
            src = src,
            hdrs = seen,
            deps = deps + cuda_deps,
            nvcc_copts = _GENCODE + ["-c"] + nvcc_copts,
            out = out,
        )
        objects.append(out)

    cc_library(
        name = name,
        srcs = host_srcs + device_hdrs + objects,
        hdrs = hdrs,
        # The runtime is a static library, which must go into the same binary
        # as the code that calls it.
        linkstatic = 1,
        deps = deps + cuda_deps + ["@cuda//:runtime"],
        alwayslink = alwayslink,
        visibility = visibility,
    )

def cuda_host_library(name, srcs, hdrs, deps = [], visibility = None):
    """A cc_library that includes CUDA's headers; empty without the toolkit."""
    cc_library(
        name = name,
        srcs = srcs if CUDA_FOUND else [],
        hdrs = hdrs if CUDA_FOUND else [],
        deps = deps + ["@cuda//:runtime"] if CUDA_FOUND else [],
        visibility = visibility,
    )
