// A network of its own: interfaces, addresses, routes and sockets that have
// nothing to do with the machine's (network_namespaces(7)).
#ifndef TOOLS_BENCH_NETWORK_NETWORK_NAMESPACE_H_
#define TOOLS_BENCH_NETWORK_NETWORK_NAMESPACE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace ps {

// It has no name under /run/netns, so it lasts as long as this object and the
// processes in it: however this program ends, nothing is left that somebody
// would have to remove. To look inside: nsenter --net=/proc/PID/ns/net, with
// the number of one of these processes. Thread-safe.
class NetworkNamespace {
 public:
  // Empty but for a loopback interface that is down. Errors: kPermissionDenied
  // with what to do about it; kUnimplemented for a kernel without namespaces;
  // what else the system reports.
  static absl::StatusOr<NetworkNamespace> Create();

  // For Spawn() and setns(2); valid as long as this object.
  int fd() const { return fd_.get(); }

  // Under which other programs of this user find it, as long as this object.
  std::string path() const;

  // What tells it from all others that there are: "net:[4026532177]".
  std::string id() const;

  // Runs `work` inside, on a thread of its own; the network of all other
  // threads stays what it is. Sockets that it makes stay inside, also when the
  // thread is gone. Errors: of entering; else what `work` returns.
  absl::Status Run(const std::function<absl::Status()>& work) const;

 private:
  explicit NetworkNamespace(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_NETWORK_NAMESPACE_H_
