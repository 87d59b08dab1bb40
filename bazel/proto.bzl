"""C++ code from .proto files with Debian's protoc and grpc_cpp_plugin."""

def proto_cc_library(name, src, imports = [], deps = [], grpc = False):
    """Compiles one .proto file to a cc_library.

    Args:
      name: the library.
      src: the .proto file, in this package.
      imports: the .proto files that it imports, directly or not.
      deps: proto_cc_library targets of those that it imports directly.
      grpc: also generate the service's stubs.
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
        srcs = [src] + imports,
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
    )
