// SliceMessage as bytes, without copying its payload.
//
// A SliceMessage of parameter_server.proto is encoded as its small fields
// followed by the payload field, whose bytes are the memory that the compressor
// or the optimizer filled; gRPC sends both pieces from where they are. Decoding
// does not copy either: the payload stays in the gRPC slices in which it
// arrived.
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

// Limit on the size of the fields before the payload.
constexpr int64_t kMaxSliceHeaderBytes = 4096;

// No message about a slice is longer: the largest payload has 8 bytes per
// element (raw32 indices, fp32 values).
inline int64_t MaxSliceMessageBytes(int64_t num_elements) {
  return 8 * num_elements + kMaxSliceHeaderBytes + 1024;
}

// The message size that channels and servers must accept for slices of at most
// max_slice_elements. At least gRPC's default of 4 MiB, because the config
// and the sizes of many buckets must fit, however small the slices are.
inline int64_t MaxMessageBytes(int64_t max_slice_elements) {
  return std::max<int64_t>(MaxSliceMessageBytes(max_slice_elements), 4 << 20);
}

// header.payload must be empty. The buffer shares the memory of `payload`.
grpc::ByteBuffer EncodeSliceMessage(const SliceMessage& header,
                                    const PayloadBuffer& payload);

// A received payload; `pieces` point into memory that `owner` keeps alive.
struct ReceivedPayload {
  PayloadPieces pieces;
  std::shared_ptr<const void> owner;
};

struct ReceivedSliceMessage {
  SliceMessage header;  // Without the payload.
  ReceivedPayload payload;
  int64_t message_bytes = 0;
};

// Decodes an untrusted message. Errors: kInvalidArgument, which says what is
// malformed: a header that cannot be parsed or is too long, or a payload length
// that does not reach exactly to the end.
absl::StatusOr<ReceivedSliceMessage> DecodeSliceMessage(
    const grpc::ByteBuffer& message);

}  // namespace ps

#endif  // TRANSPORT_SLICE_MESSAGE_H_
