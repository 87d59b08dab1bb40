#include "transport/slice_message.h"

#include <memory>

#include "common/status_macros.h"

namespace ps {

grpc::ByteBuffer EncodeSliceMessage(const SliceMessage& header,
                                    const PayloadBuffer& payload) {
  return EncodeWithPayload(
      header, SliceMessage::kPayloadFieldNumber,
      {{payload.span()}, std::make_shared<PayloadBuffer>(payload)});
}

absl::StatusOr<ReceivedSliceMessage> DecodeSliceMessage(
    const grpc::ByteBuffer& message) {
  ReceivedSliceMessage received;
  received.message_bytes = static_cast<int64_t>(message.Length());
  PS_ASSIGN_OR_RETURN(
      received.payload,
      DecodeWithPayload(message, SliceMessage::kPayloadFieldNumber,
                        &received.header));
  return received;
}

}  // namespace ps
