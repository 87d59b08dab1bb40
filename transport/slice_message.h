// Encodes and decodes the messages about slices.
#ifndef TRANSPORT_SLICE_MESSAGE_H_
#define TRANSPORT_SLICE_MESSAGE_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/statusor.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/payload_buffer.h"
#include "grpcpp/support/byte_buffer.h"
#include "proto/parameter_server.pb.h"
#include "transport/payload_message.h"

namespace ps {

constexpr int64_t kMaxSliceHeaderBytes = kMaxHeaderBytes;

// Returns the maximum size of a message about a slice: the largest payload has
// 8 bytes per element (raw32 indices, fp32 values).
inline int64_t MaxSliceMessageBytes(int64_t num_elements) {
  return 8 * num_elements + kMaxSliceHeaderBytes + 1024;
}

// Returns the message size that channels and servers must accept for slices of
// at most max_slice_elements. It is at least gRPC's default of 4 MiB, because
// the config and the sizes of many buckets must fit, however small the slices
// are.
inline int64_t MaxMessageBytes(int64_t max_slice_elements) {
  return std::max<int64_t>(MaxSliceMessageBytes(max_slice_elements), 4 << 20);
}

// Encodes a message without header.payload. Shares the memory of `payload`.
grpc::ByteBuffer EncodeSliceMessage(const SliceMessage& header,
                                    const PayloadBuffer& payload);

struct ReceivedSliceMessage {
  SliceMessage header;  // The header, without the payload.
  ReceivedPayload payload;
  int64_t message_bytes = 0;
};

// Decodes an untrusted message. Errors: those of DecodeWithPayload.
absl::StatusOr<ReceivedSliceMessage> DecodeSliceMessage(
    const grpc::ByteBuffer& message);

}  // namespace ps

#endif  // TRANSPORT_SLICE_MESSAGE_H_
