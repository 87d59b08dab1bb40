#include "models/onnx/not_onnx.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/file_kind.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"

namespace ps {
namespace {

using google::protobuf::internal::WireFormatLite;

// Returns how many bytes the last field of a ModelProto lacks; 0 if the bytes
// are no such fields.
uint64_t MissingBytes(absl::string_view bytes) {
  constexpr int kMaxField = 30;  // ModelProto has fields 1 to 25.
  google::protobuf::io::CodedInputStream input(
      reinterpret_cast<const uint8_t*>(bytes.data()),
      static_cast<int>(bytes.size()));
  while (const uint32_t tag = input.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    const auto type = WireFormatLite::GetTagWireType(tag);
    uint64_t value = 0;
    if (field < 1 || field > kMaxField ||
        (type != WireFormatLite::WIRETYPE_VARINT &&
         type != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) ||
        !input.ReadVarint64(&value)) {
      return 0;
    }
    if (type == WireFormatLite::WIRETYPE_VARINT) continue;
    const uint64_t left =
        bytes.size() - static_cast<uint64_t>(input.CurrentPosition());
    if (value > left) return value - left;
    input.Skip(static_cast<int>(value));
  }
  return 0;
}

}  // namespace

std::string WhyNotOnnx(absl::string_view bytes) {
  const std::string kind = AsWhatItIs(bytes.substr(0, kFileKindBytes));
  if (!kind.empty()) {
    return absl::StrCat("the file is no ONNX model", kind);
  }
  // safetensors begins with the length of its header, and the header.
  if (bytes.size() > 9 && bytes[8] == '{') {
    return "the file is no ONNX model; it has weights in safetensors, which "
           "model.initial_weights reads";
  }
  if (const uint64_t missing = MissingBytes(bytes)) {
    return absl::StrCat("the file is cut off: after its ", bytes.size(),
                        " bytes ", missing, " are missing");
  }
  return "the bytes are not an ONNX model with nodes";
}

}  // namespace ps
