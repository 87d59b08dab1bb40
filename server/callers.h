// Who calls a server, and whether they may.
#ifndef SERVER_CALLERS_H_
#define SERVER_CALLERS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "proto/parameter_server.pb.h"
#include "security/credentials.h"
#include "server/held_call.h"
#include "server/membership.h"
#include "server/server_metrics.h"

namespace ps {

// None of the plain pointers is owned; all outlive the gRPC server.
struct CallersOptions {
  const Credentials* credentials = nullptr;
  const Membership* membership = nullptr;
  // Shared with answers that outlive the services.
  std::shared_ptr<ServerMetrics> metrics;
  // Called with the peer of each call of a process of the job: its connection
  // is not a stranger's. May be null.
  std::function<void(const std::string& peer)> known;
};

// What all services of a server do when a call comes. Thread-safe.
class Callers {
 public:
  explicit Callers(CallersOptions options);

  // Whether the caller is this process of the job. Errors: those of
  // Credentials::CheckCaller.
  absl::Status CheckCaller(const grpc::CallbackServerContext& context,
                           Role role, int index) const;
  // Whether the caller is this worker, and the worker is registered. Errors:
  // also those of Membership::Check.
  absl::Status CheckWorker(const grpc::CallbackServerContext& context,
                           const WorkerId& worker) const;
  // The caller belongs to the job, whoever it is.
  void Know(const grpc::CallbackServerContext& context) const;

  // For HeldCall::New: counts the call when it ends.
  HeldCall::Ended Counted(const char* method) const;

 private:
  const CallersOptions options_;
};

}  // namespace ps

#endif  // SERVER_CALLERS_H_
