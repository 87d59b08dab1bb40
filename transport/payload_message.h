// Encodes protobuf messages that end in a payload, without copying it.
//
// Such a message is encoded as its small fields followed by the payload field,
// whose bytes are in memory that another object filled; gRPC sends both from
// where they are. Decoding does not copy either: the payload stays in the gRPC
// slices in which it arrived.
#ifndef TRANSPORT_PAYLOAD_MESSAGE_H_
#define TRANSPORT_PAYLOAD_MESSAGE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "compressors/payload/payload_format.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"

namespace ps {

// The limit on the size of the fields before the payload.
constexpr int64_t kMaxHeaderBytes = 4096;

// A payload; `pieces` point into memory that `owner` keeps alive.
struct ReceivedPayload {
  PayloadPieces pieces;
  std::shared_ptr<const void> owner;
};

// Encodes a message. The payload field must be empty in `header`, and is field
// payload_field. The buffer shares the memory of `payload`.
grpc::ByteBuffer EncodeWithPayload(const google::protobuf::MessageLite& header,
                                   int payload_field,
                                   const ReceivedPayload& payload);

// Decodes an untrusted message; sets *header to the fields before the payload.
// Errors: kInvalidArgument, which says what is malformed: a header that cannot
// be parsed or is too long, or a payload length that does not reach exactly to
// the end.
absl::StatusOr<ReceivedPayload> DecodeWithPayload(
    const grpc::ByteBuffer& message, int payload_field,
    google::protobuf::MessageLite* header);

}  // namespace ps

#endif  // TRANSPORT_PAYLOAD_MESSAGE_H_
