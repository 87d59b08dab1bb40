// One server as a worker sees it: its connections.
#ifndef TRANSPORT_SERVER_LINK_H_
#define TRANSPORT_SERVER_LINK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "proto/parameter_server.grpc.pb.h"
#include "transport/attendance.h"
#include "transport/push_window.h"

namespace ps {

struct ServerLinkOptions {
  int index = 0;
  std::string address;  // "host:port"
  int connections = 1;
  int64_t max_message_bytes = 0;
  int64_t credit_bytes = 0;
  bool unix_sockets = false;
  absl::Duration startup_timeout;
  absl::Duration patience;  // The log says whom it waits for so often.
};

// Connects lazily. One thread at a time uses it, but for attendance().
class ServerLink {
 public:
  explicit ServerLink(const ServerLinkOptions& options);

  // Registers, waiting with back-off for a server that has not started, then
  // makes the connections for data. Errors: kDeadlineExceeded after
  // startup_timeout, and what the server refuses; both name the server.
  absl::Status Register(RegisterRequest request);

  // From now on the server knows that the worker lives. `changed`: see
  // Attendance.
  void Attend(const WorkerId& worker, std::function<void()> changed);
  void EndAttendance() { attendance_.reset(); }

  int index() const { return options_.index; }
  // "server 1 at host:port".
  std::string Name() const;
  const Attendance& attendance() const { return *attendance_; }
  // For everything but data.
  ParameterServer::Stub* stub() { return stub_.get(); }
  // Data connection i, modulo their number.
  grpc::GenericStub* data_stub(int64_t i) {
    return data_stubs_[i % data_stubs_.size()].get();
  }
  PushWindow* window() { return &window_; }

 private:
  void OpenDataConnections(const std::string& unix_socket);

  const ServerLinkOptions options_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;  // [0]: no data.
  std::unique_ptr<ParameterServer::Stub> stub_;
  std::vector<std::unique_ptr<grpc::GenericStub>> data_stubs_;
  std::unique_ptr<Attendance> attendance_;
  PushWindow window_;
};

}  // namespace ps

#endif  // TRANSPORT_SERVER_LINK_H_
