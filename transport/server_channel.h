// The interface to a server, which gRPC implements, or a simulation.
#ifndef TRANSPORT_SERVER_CHANNEL_H_
#define TRANSPORT_SERVER_CHANNEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/byte_buffer.h"
#include "proto/parameter_server.pb.h"

namespace ps {

// The unary calls of the services.
enum class Rpc {
  kRegister,
  kFindSnapshots,
  kRestore,
  kInitializeSlice,
  kPush,
  kPull,
  kGetPositions,
  kSaveSnapshot,
  kStop,
  kFinish,
  kGetStatus,
  kAuxPut,
  kAuxGet,
  kAddSquares,  // This call is from server to server.
};

struct RpcRequest {
  Rpc rpc = Rpc::kGetStatus;
  int connection = 0;
  grpc::ByteBuffer message;
  absl::Duration timeout;
};

// Handles the events of an Attend call, in this order: accepted at most once,
// event at most once, closed once.
struct AttendHandler {
  std::function<void()> accepted;
  std::function<void(const AttendEvent&)> event;
  std::function<void(const absl::Status&)> closed;
};

struct ServerChannelOptions {
  std::string address;  // The address, as in cluster.servers.
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  int64_t max_message_bytes = 0;
};

// A channel. Connection 0 carries everything but slices; connections from 1 on
// carry these. (Pushes, which wait for other workers, could fill a connection
// with calls, and calls that other workers need must not wait behind them.)
// Thread-safe. Handlers run on other threads, never inside the call that passes
// them. A call fails with kUnavailable if the server cannot be reached now.
class ServerChannel {
 public:
  // Receives the answer; called once.
  using Done = std::function<void(absl::StatusOr<grpc::ByteBuffer>)>;

  virtual ~ServerChannel() = default;

  // Creates or replaces a connection, and cancels the calls of the one that it
  // replaces. Connection 0 exists from the beginning.
  virtual void Open(int connection) = 0;

  virtual void Start(const RpcRequest& request, Done done) = 0;

  // Starts an Attend call; cancels an earlier one that is still open.
  virtual void Attend(const AttendRequest& request, absl::Duration timeout,
                      AttendHandler handler) = 0;

  // Cancels all calls and waits at most this long for their handlers. None is
  // called afterwards, and calls that are made meanwhile do nothing. Must be
  // called before the destructor.
  virtual void Close(absl::Duration timeout) = 0;
};

}  // namespace ps

#endif  // TRANSPORT_SERVER_CHANNEL_H_
