"""C++ code from .proto files with Debian's protoc and grpc_cpp_plugin."""

def proto_cc_library(name, src, deps = [], grpc = False, visibility = None):
    """Compiles one .proto file to a cc_library.

    Args:
      name: the library.
      src: the .proto file, in this package.
      deps: proto_cc_library targets of the files that it imports.
      grpc: also generate the service's stubs.
      visibility: of the library.
    """
    base = src[:-len(".proto")]
    outs = [base + ".pb.h", base + ".pb.cc"]
    command = "protoc -I. --cpp_out=$(GENDIR)"
    if grpc:
        outs += [base + ".grpc.pb.h", base + ".grpc.pb.cc"]
        command += " --grpc_out=$(GENDIR)" + \
                   " --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin"
    native.genrule(
        name = name + "_generated",
        srcs = [src],
        outs = outs,
        cmd = command + " $(location %s)" % src,
    )
    native.cc_library(
        name = name,
        srcs = [out for out in outs if out.endswith(".cc")],
        hdrs = [out for out in outs if out.endswith(".h")],
        # Generated code is not ours to warn about.
        copts = ["-w"],
        deps = deps + [
            "@system//:grpc" if grpc else "@system//:protobuf",
        ],
        visibility = visibility,
    )
