#include "transport/slice_message.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "grpcpp/support/slice.h"

namespace ps {
namespace {

using ::google::protobuf::internal::WireFormatLite;
using ::google::protobuf::io::CodedInputStream;
using ::google::protobuf::io::CodedOutputStream;

constexpr uint32_t kPayloadTag =
    WireFormatLite::MakeTag(SliceMessage::kPayloadFieldNumber,
                            WireFormatLite::WIRETYPE_LENGTH_DELIMITED);

using Slices = std::vector<grpc::Slice>;

// The first bytes of a message, enough for every valid header.
std::string Prefix(const Slices& slices) {
  std::string prefix;
  for (const grpc::Slice& slice : slices) {
    const size_t room = kMaxSliceHeaderBytes - prefix.size();
    prefix.append(reinterpret_cast<const char*>(slice.begin()),
                  std::min(room, slice.size()));
    if (prefix.size() == kMaxSliceHeaderBytes) break;
  }
  return prefix;
}

// The slices' bytes from `offset` on.
PayloadPieces PiecesFrom(const Slices& slices, size_t offset) {
  PayloadPieces pieces;
  for (const grpc::Slice& slice : slices) {
    if (offset >= slice.size()) {
      offset -= slice.size();
      continue;
    }
    pieces.emplace_back(slice.begin() + offset, slice.size() - offset);
    offset = 0;
  }
  return pieces;
}

// A named function, because tests/tsan_suppressions.txt refers to it.
void ReleasePayload(void* buffer) {
  delete static_cast<PayloadBuffer*>(buffer);
}

}  // namespace

grpc::ByteBuffer EncodeSliceMessage(const SliceMessage& header,
                                    const PayloadBuffer& payload) {
  std::string start = header.SerializeAsString();
  {
    google::protobuf::io::StringOutputStream stream(&start);
    // StringOutputStream appends.
    CodedOutputStream output(&stream);
    output.WriteTag(kPayloadTag);
    output.WriteVarint64(payload.size_bytes());
  }
  // gRPC calls the deleter when the last byte has been sent.
  auto* keep = new PayloadBuffer(payload);
  const grpc::Slice parts[] = {
      grpc::Slice(start),
      grpc::Slice(keep->data(), keep->size_bytes(), ReleasePayload, keep),
  };
  return grpc::ByteBuffer(parts, 2);
}

absl::StatusOr<ReceivedSliceMessage> DecodeSliceMessage(
    const grpc::ByteBuffer& message) {
  auto slices = std::make_shared<Slices>();
  const grpc::Status dumped = message.Dump(slices.get());
  if (!dumped.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("message cannot be read: ", dumped.error_message()));
  }
  ReceivedSliceMessage received;
  received.message_bytes = static_cast<int64_t>(message.Length());
  const std::string prefix = Prefix(*slices);
  CodedInputStream input(reinterpret_cast<const uint8_t*>(prefix.data()),
                         static_cast<int>(prefix.size()));
  int header_bytes = 0;
  for (;;) {
    header_bytes = input.CurrentPosition();
    const uint32_t tag = input.ReadTag();
    if (tag == kPayloadTag) break;
    if (tag == 0 && input.ConsumedEntireMessage() &&
        received.message_bytes == header_bytes) {
      // A message without a payload.
      if (!received.header.ParseFromArray(prefix.data(), header_bytes)) {
        return absl::InvalidArgumentError("message header cannot be parsed");
      }
      return received;
    }
    if (tag == 0 || !WireFormatLite::SkipField(&input, tag)) {
      return absl::InvalidArgumentError(
          absl::StrCat("message header is malformed at byte ", header_bytes,
                       ", or longer than ", kMaxSliceHeaderBytes, " bytes"));
    }
  }
  uint64_t payload_bytes = 0;
  if (!input.ReadVarint64(&payload_bytes)) {
    return absl::InvalidArgumentError("payload length cannot be parsed");
  }
  const int64_t begin = input.CurrentPosition();
  if (payload_bytes != static_cast<uint64_t>(received.message_bytes - begin)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "payload length says ", payload_bytes, " bytes and ",
        received.message_bytes - begin,
        " follow; it must be the last field and reach to the end"));
  }
  if (!received.header.ParseFromArray(prefix.data(), header_bytes)) {
    return absl::InvalidArgumentError("message header cannot be parsed");
  }
  received.payload.pieces = PiecesFrom(*slices, begin);
  received.payload.owner = std::move(slices);
  return received;
}

}  // namespace ps
