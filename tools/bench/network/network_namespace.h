// A separate network: interfaces, addresses, routes and sockets that are
// independent of the machine's (network_namespaces(7)).
#ifndef TOOLS_BENCH_NETWORK_NETWORK_NAMESPACE_H_
#define TOOLS_BENCH_NETWORK_NETWORK_NAMESPACE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace ps {

// It has no name under /run/netns, so it lasts as long as this object and the
// processes in it: however this program ends, nothing is left that would have
// to be removed. To enter it, use nsenter --net=/proc/PID/ns/net with the ID of
// one of these processes. Thread-safe.
class NetworkNamespace {
 public:
  // Makes a network with only a loopback interface, which is down. Errors:
  // kPermissionDenied with what to do about it; kUnimplemented for a kernel
  // without namespaces; others of the system.
  static absl::StatusOr<NetworkNamespace> Create();

  // For Spawn() and setns(2); valid as long as this object exists.
  int fd() const { return fd_.get(); }

  // The path for other programs of this user; valid as long as this object
  // exists.
  std::string path() const;

  // Identifies it among all existing namespaces: "net:[4026532177]".
  std::string id() const;

  // Runs `work` inside, on a thread of its own; the network of all other
  // threads does not change. Sockets that it makes stay inside, even after the
  // thread has ended. Errors: those of entering; otherwise the result of
  // `work`.
  absl::Status Run(const std::function<absl::Status()>& work) const;

 private:
  explicit NetworkNamespace(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_NETWORK_NAMESPACE_H_
