"""precompiled_header: GCC's .gch of a header, by the flags of this build."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

# What tests are compiled with: quickly, and without fused products, since many
# compare bits with a reference that they compute. What they test keeps its
# options.
TEST_OPTIONS = ["-O1", "-ffp-contract=off"]

def _impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )

    # GCC looks for NAME.h.gch beside the NAME.h that is included.
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    ctx.actions.expand_template(template = ctx.file.src, output = header, substitutions = {})
    compiled = ctx.actions.declare_file(ctx.label.name + ".h.gch")
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = "c++-compile",
        variables = cc_common.create_compile_variables(
            feature_configuration = features,
            cc_toolchain = toolchain,
            user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts,
            quote_include_directories = depset(["."]),
            source_file = header.path,
            output_file = compiled.path,
        ),
    )
    ctx.actions.run(
        executable = toolchain.compiler_executable,
        arguments = ["-x", "c++-header"] + flags,
        inputs = depset([header] + ctx.files.includes, transitive = [toolchain.all_files]),
        outputs = [compiled],
        mnemonic = "PrecompileHeader",
        progress_message = "Precompiling %s" % ctx.file.src.short_path,
    )
    files = depset([header, compiled])
    return [
        DefaultInfo(files = files),
        CcInfo(compilation_context = cc_common.create_compilation_context(headers = files)),
    ]

precompiled_header = rule(
    implementation = _impl,
    attrs = {
        "src": attr.label(allow_single_file = [".h"], mandatory = True),
        "copts": attr.string_list(),
        # Headers of this tree that `src` includes.
        "includes": attr.label_list(allow_files = [".h"]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
