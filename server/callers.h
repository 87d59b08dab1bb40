// Authenticates and authorises the callers of a server.
#ifndef SERVER_CALLERS_H_
#define SERVER_CALLERS_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "proto/parameter_server.pb.h"
#include "security/credentials.h"
#include "server/membership.h"

namespace ps {

// The options. None of the plain pointers is owned; all outlive the callers.
struct CallersOptions {
  const Credentials* credentials = nullptr;
  const Membership* membership = nullptr;
  // Called with the peer of each call of a process of the job, whose connection
  // is then authenticated. May be null.
  std::function<void(const std::string& peer)> known;
};

// The checks with which all calls of a server begin. Thread-safe.
class Callers {
 public:
  explicit Callers(CallersOptions options);

  // Checks that the caller is this process of the job. Errors: those of
  // Credentials::CheckCaller.
  absl::Status CheckCaller(const Caller& caller, Role role, int index) const;
  // Checks that the caller is this worker, and that the worker is registered.
  // Errors: also those of Membership::Check.
  absl::Status CheckWorker(const Caller& caller, const WorkerId& worker) const;
  // Records that the caller belongs to the job, whichever process it is.
  void Know(const Caller& caller) const;

 private:
  const CallersOptions options_;
};

}  // namespace ps

#endif  // SERVER_CALLERS_H_
