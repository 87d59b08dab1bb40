#include "transport/payload_message.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"
#include "grpcpp/support/slice.h"

namespace ps {
namespace {

using ::google::protobuf::internal::WireFormatLite;
using ::google::protobuf::io::CodedInputStream;
using ::google::protobuf::io::CodedOutputStream;

using Slices = std::vector<grpc::Slice>;
using Owner = std::shared_ptr<const void>;

uint32_t TagOf(int payload_field) {
  return WireFormatLite::MakeTag(payload_field,
                                 WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

// Returns the first bytes of a message, enough for every valid header.
std::string Prefix(const Slices& slices) {
  std::string prefix;
  for (const grpc::Slice& slice : slices) {
    const size_t room = kMaxHeaderBytes - prefix.size();
    prefix.append(reinterpret_cast<const char*>(slice.begin()),
                  std::min(room, slice.size()));
    if (prefix.size() == kMaxHeaderBytes) break;
  }
  return prefix;
}

// Returns the slices' bytes from `offset` on.
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

// This is a named function, because tests/tsan_suppressions.txt refers to it.
void ReleasePayload(void* owner) { delete static_cast<Owner*>(owner); }

}  // namespace

grpc::ByteBuffer EncodeWithPayload(const google::protobuf::MessageLite& header,
                                   int payload_field,
                                   const ReceivedPayload& payload) {
  size_t payload_bytes = 0;
  for (const auto& piece : payload.pieces) payload_bytes += piece.size();
  std::string start = header.SerializeAsString();
  {
    google::protobuf::io::StringOutputStream stream(&start);
    // StringOutputStream appends.
    CodedOutputStream output(&stream);
    output.WriteTag(TagOf(payload_field));
    output.WriteVarint64(payload_bytes);
  }
  Slices slices = {grpc::Slice(start)};
  for (const auto& piece : payload.pieces) {
    // gRPC calls the deleter when the last byte has been sent.
    slices.emplace_back(const_cast<uint8_t*>(piece.data()), piece.size(),
                        ReleasePayload, new Owner(payload.owner));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

absl::StatusOr<ReceivedPayload> DecodeWithPayload(
    const grpc::ByteBuffer& message, int payload_field,
    google::protobuf::MessageLite* header) {
  const uint32_t payload_tag = TagOf(payload_field);
  auto slices = std::make_shared<Slices>();
  const grpc::Status dumped = message.Dump(slices.get());
  if (!dumped.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("message cannot be read: ", dumped.error_message()));
  }
  const auto message_bytes = static_cast<int64_t>(message.Length());
  const std::string prefix = Prefix(*slices);
  CodedInputStream input(reinterpret_cast<const uint8_t*>(prefix.data()),
                         static_cast<int>(prefix.size()));
  int header_bytes = 0;
  for (;;) {
    header_bytes = input.CurrentPosition();
    const uint32_t tag = input.ReadTag();
    if (tag == payload_tag) break;
    if (tag == 0 && input.ConsumedEntireMessage() &&
        message_bytes == header_bytes) {
      // The message has no payload.
      if (!header->ParseFromArray(prefix.data(), header_bytes)) {
        return absl::InvalidArgumentError("message header cannot be parsed");
      }
      return ReceivedPayload();
    }
    if (tag == 0 || !WireFormatLite::SkipField(&input, tag)) {
      return absl::InvalidArgumentError(
          absl::StrCat("message header is malformed at byte ", header_bytes,
                       ", or longer than ", kMaxHeaderBytes, " bytes"));
    }
  }
  uint64_t payload_bytes = 0;
  if (!input.ReadVarint64(&payload_bytes)) {
    return absl::InvalidArgumentError("payload length cannot be parsed");
  }
  const int64_t begin = input.CurrentPosition();
  if (payload_bytes != static_cast<uint64_t>(message_bytes - begin)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "payload length says ", payload_bytes, " bytes and ",
        message_bytes - begin,
        " follow; it must be the last field and reach to the end"));
  }
  if (!header->ParseFromArray(prefix.data(), header_bytes)) {
    return absl::InvalidArgumentError("message header cannot be parsed");
  }
  ReceivedPayload payload;
  payload.pieces = PiecesFrom(*slices, begin);
  payload.owner = std::move(slices);
  return payload;
}

}  // namespace ps
