"""cc_library, cc_binary and cc_test of this tree: Bazel's, with a precompiled
header before every source file.

Parsing the headers of the standard library, Abseil, glog and Protocol Buffers
took two thirds of the time of a compilation. bazel/precompiled has them parsed
once. A source file includes what it uses all the same: `./test --plain`
compiles without precompiled headers.

A target with options of its own is compiled without: GCC takes the options of
the precompiled header for code after a pragma or an attribute that names a
target, as all vector code has.
"""

load("//bazel/precompiled:header.bzl", "TEST_OPTIONS")

_LIBRARIES = "//bazel/precompiled:libraries_precompiled"
_TESTS = "//bazel/precompiled:libraries_and_tests_precompiled"

def _with_header(srcs, copts, deps, header):
    if copts or not [src for src in srcs if src.endswith(".cc")]:
        return copts, deps
    package, name = header[len("//"):].split(":")
    include = ["-include", "$(BINDIR)/%s/%s.h" % (package, name)]
    return select({
        "//bazel/precompiled:off": [],
        "//conditions:default": include,
    }), select({
        "//bazel/precompiled:off": [],
        "//conditions:default": [header],
    }) + deps

def cc_library(name, srcs = [], copts = [], deps = [], testonly = 0, **kwargs):
    """As native.cc_library; with the options of tests where it is testonly."""
    with_header, deps = _with_header(srcs, copts, deps, _TESTS if testonly else _LIBRARIES)
    native.cc_library(
        name = name,
        srcs = srcs,
        copts = (TEST_OPTIONS if testonly and not copts else []) + with_header,
        deps = deps,
        testonly = testonly,
        **kwargs
    )

def cc_binary(name, srcs, copts = [], deps = [], **kwargs):
    """As native.cc_binary."""
    copts, deps = _with_header(srcs, copts, deps, _LIBRARIES)
    native.cc_binary(name = name, srcs = srcs, copts = copts, deps = deps, **kwargs)

def cc_test(name, srcs, deps = [], **kwargs):
    """As native.cc_test, with GoogleTest's main and the options of tests.

    A test program has the tests of one folder, each file with its own subject:
    to link and start hundreds of small programs takes longer than their tests.
    """
    copts, deps = _with_header(srcs, [], deps, _TESTS)
    native.cc_test(
        name = name,
        srcs = srcs,
        copts = TEST_OPTIONS + copts,
        deps = deps + ["@system//:gtest_main"],
        **kwargs
    )
