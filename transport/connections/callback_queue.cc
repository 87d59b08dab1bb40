#include "transport/connections/callback_queue.h"

#include <memory>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

namespace ps {
namespace {

// A channel that holds the queue from its first call with a callback. Without
// credentials, every call on it fails at once; it has no address and opens no
// connection.
struct QueueHolder {
  QueueHolder()
      : channel(grpc::CreateChannel("unused", nullptr)),
        stub(channel),
        request(&nothing, 1) {
    stub.UnaryCall(&context, "/unused/Unused", grpc::StubOptions(), &request,
                   &response, [](const grpc::Status&) {});
  }

  std::shared_ptr<grpc::Channel> channel;
  grpc::GenericStub stub;
  grpc::ClientContext context;
  grpc::Slice nothing;  // A request needs a slice, even if empty.
  grpc::ByteBuffer request;
  grpc::ByteBuffer response;
};

}  // namespace

void KeepCallbackQueue() {
  // Never deleted, which is its purpose. Volatile, because the compiler would
  // drop a pointer that nobody reads, and leak checkers would then report the
  // object.
  static QueueHolder* volatile const holder = new QueueHolder;
  static_cast<void>(holder);
}

}  // namespace ps
