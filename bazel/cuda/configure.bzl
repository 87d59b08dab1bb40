"""Finds the CUDA toolkit, or makes a repository that says there is none.

$CUDA_HOME if it is set (set but empty: build for the CPU alone), else the nvcc
on the PATH, else /usr/local/cuda. Whatever is found,
@cuda//:defs.bzl has CUDA_FOUND, and @cuda//:runtime is a cc_library (empty
without a toolkit, so that BUILD files need no second version) with the headers,
and the runtime linked statically. The headers of cuBLAS and cuDNN must be among
them; the libraries are loaded when a program runs (tensor/cuda/libraries).
"""

_BUILD = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "runtime",
    defines = {defines},
    includes = {includes},
    hdrs = {hdrs},
    linkopts = {linkopts},
)
"""

# The oldest version of cuDNN whose status codes the code knows.
_MIN_CUDNN = 9

def _has_cudnn(ctx, home):
    version = ctx.path(home + "/include/cudnn_version.h")
    if not version.exists or not ctx.path(home + "/include/cudnn.h").exists:
        return False
    for line in ctx.read(version).split("\n"):
        words = [word for word in line.split(" ") if word]
        if words[:2] == ["#define", "CUDNN_MAJOR"]:
            return int(words[2]) >= _MIN_CUDNN
    return False

def _impl(ctx):
    candidates = []
    if "CUDA_HOME" in ctx.os.environ:
        home = ctx.os.environ["CUDA_HOME"]
        if home and not ctx.path(home + "/bin/nvcc").exists:
            fail("CUDA_HOME is %s, which has no bin/nvcc; leave it empty for a CPU-only build" % home)
        candidates.append(home)
    else:
        nvcc = ctx.which("nvcc")
        if nvcc:
            candidates.append(str(nvcc.realpath.dirname.dirname))
        candidates.append("/usr/local/cuda")
    home = None
    for candidate in candidates:
        if candidate and ctx.path(candidate + "/bin/nvcc").exists:
            home = candidate
            break

    if home and not ctx.path(home + "/include/cublas_v2.h").exists:
        fail("%s has no include/cublas_v2.h: install cuBLAS's headers, or set CUDA_HOME to nothing for a CPU-only build" % home)
    if home and not _has_cudnn(ctx, home):
        fail("%s has no include/cudnn.h of version %d or later: install cuDNN's headers, or set CUDA_HOME to nothing for a CPU-only build" % (home, _MIN_CUDNN))

    if home:
        # A link, so that the headers are reached by a path inside this
        # repository.
        ctx.symlink(home + "/include", "include")
        ctx.file("BUILD", _BUILD.format(
            defines = ["PS_HAVE_CUDA=1"],
            includes = ["include"],
            hdrs = "glob([\"include/**\"])",
            linkopts = [
                "-L%s/lib64" % home,
                "-lcudart_static",
                "-ldl",
                "-lrt",
                "-lpthread",
            ],
        ))
    else:
        ctx.file("BUILD", _BUILD.format(
            defines = [],
            includes = [],
            hdrs = [],
            linkopts = [],
        ))
    ctx.file("defs.bzl", "CUDA_FOUND = %s\nCUDA_HOME = %s\n" % (
        repr(home != None),
        repr(home or ""),
    ))

cuda_configure = repository_rule(
    implementation = _impl,
    environ = ["CUDA_HOME", "PATH"],
    local = True,
)
