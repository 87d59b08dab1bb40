// Converts small messages to and from the bytes that a channel carries.
#ifndef TRANSPORT_PROTO_BYTES_H_
#define TRANSPORT_PROTO_BYTES_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

namespace ps {

template <typename Message>
grpc::ByteBuffer ToBytes(const Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

// Parses a message. Errors: that of `bytes`; kInvalidArgument if it is none.
template <typename Message>
absl::StatusOr<Message> FromBytes(absl::StatusOr<grpc::ByteBuffer> bytes) {
  if (!bytes.ok()) return bytes.status();
  Message message;
  if (!grpc::SerializationTraits<Message>::Deserialize(&*bytes, &message)
           .ok()) {
    return absl::InvalidArgumentError("the message cannot be parsed");
  }
  return message;
}

}  // namespace ps

#endif  // TRANSPORT_PROTO_BYTES_H_
