"""Stand-in for rules_proto, which Bazel's own tools load: the built-in rules."""

proto_lang_toolchain = native.proto_lang_toolchain
proto_library = native.proto_library
