// SliceMessage as bytes, without copying its payload.
//
// A SliceMessage of parameter_server.proto is written as its small fields, then
// the payload field, whose bytes are the memory that the compressor or the
// optimizer filled; gRPC sends both pieces from where they are. A received one
// is taken apart likewise: the payload stays in the slices that the network
// made of it.
#ifndef TRANSPORT_SLICE_MESSAGE_H_
#define TRANSPORT_SLICE_MESSAGE_H_

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/payload_buffer.h"
#include "grpcpp/support/byte_buffer.h"
#include "proto/parameter_server.pb.h"

namespace ps {

// The most that the fields before the payload may take.
constexpr int64_t kMaxSliceHeaderBytes = 4096;

// What a channel and a server must let through for slices of so many elements:
// the largest payload is 8 bytes an element (raw32 indices, fp32 values). Not
// less than gRPC's own 4 MiB: the config and the sizes of many buckets must
// pass, whatever the slices.
inline int64_t MaxMessageBytes(int64_t max_slice_elements) {
  return std::max<int64_t>(8 * max_slice_elements + kMaxSliceHeaderBytes + 1024,
                           4 << 20);
}

// header.payload must be empty. The buffer shares `payload`.
grpc::ByteBuffer EncodeSliceMessage(const SliceMessage& header,
                                    const PayloadBuffer& payload);

// Received bytes; `pieces` point into what `owner` keeps alive.
struct ReceivedPayload {
  PayloadPieces pieces;
  std::shared_ptr<const void> owner;
};

struct ReceivedSliceMessage {
  SliceMessage header;  // Without the payload.
  ReceivedPayload payload;
  int64_t message_bytes = 0;
};

// Trusts nothing. Errors: kInvalidArgument, saying what is malformed: a header
// that does not parse or is too long, a payload length that does not reach
// exactly to the end.
absl::StatusOr<ReceivedSliceMessage> DecodeSliceMessage(
    const grpc::ByteBuffer& message);

}  // namespace ps

#endif  // TRANSPORT_SLICE_MESSAGE_H_
