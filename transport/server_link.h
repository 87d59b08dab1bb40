// A worker's connections to one server.
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
  absl::Duration patience;  // Interval of the log messages while waiting.
};

// Connects lazily. Except for attendance(), only one thread may use it at a
// time.
class ServerLink {
 public:
  explicit ServerLink(const ServerLinkOptions& options);

  // Registers, waiting for a server that has not started, then makes the data
  // connections. Errors: kDeadlineExceeded after startup_timeout, or the
  // server's refusal; both name the server.
  absl::Status Register(RegisterRequest request);

  // Lets the server know from now on that the worker is alive. `changed`: see
  // Attendance.
  void Attend(const WorkerId& worker, std::function<void()> changed);
  void EndAttendance() { attendance_.reset(); }

  int index() const { return options_.index; }
  // "server 1 at host:port".
  std::string Name() const;
  const Attendance& attendance() const { return *attendance_; }
  // For all calls without payloads.
  ParameterServer::Stub* stub() { return stub_.get(); }
  // Data connection i, modulo the number of connections.
  grpc::GenericStub* data_stub(int64_t i) {
    return data_stubs_[i % data_stubs_.size()].get();
  }
  PushWindow* window() { return &window_; }

 private:
  void OpenDataConnections(const std::string& unix_socket);

  const ServerLinkOptions options_;
  // The first channel carries no data.
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::unique_ptr<ParameterServer::Stub> stub_;
  std::vector<std::unique_ptr<grpc::GenericStub>> data_stubs_;
  std::unique_ptr<Attendance> attendance_;
  PushWindow window_;
};

}  // namespace ps

#endif  // TRANSPORT_SERVER_LINK_H_
