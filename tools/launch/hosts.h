// The machines of a job that `gradsieve launch` starts, and which process runs
// where.
#ifndef TOOLS_LAUNCH_HOSTS_H_
#define TOOLS_LAUNCH_HOSTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "security/identity.h"

namespace ps {

struct LaunchHost {
  std::string name;  // For ssh: "gpu1" or "ann@gpu1".
  // Where other hosts reach its servers, without a port: "gpu1", "10.0.0.1",
  // "[fd00::1]".
  std::string address;
  int num_workers = 1;
};

// Whether the address is a number rather than a name, for which a host may have
// several addresses.
bool IsNumber(absl::string_view address);

// Parses "a:4,ann@b=10.0.0.2:4": NAME[=ADDRESS][:WORKERS], separated by commas.
// Without ADDRESS it is NAME without the user. Errors: kInvalidArgument with
// the part that is wrong; a host that is named twice; no worker at all.
absl::StatusOr<std::vector<LaunchHost>> ParseHosts(absl::string_view text);

int NumWorkers(const std::vector<LaunchHost>& hosts);

// One server or worker of the job.
struct PlacedProcess {
  Role role = Role::kWorker;
  int number = 0;  // Index of a server, or rank of a worker.
  int host = 0;    // Number of its host.
  int port = 0;    // Of a server.

  bool is_server() const { return role == Role::kServer; }
  std::string name() const;  // "server-0", "worker-3".
};

// Servers first. They are dealt to the hosts in turn, and listen on `port` of
// their host, the second one there on port + 1 and so on. Ranks of workers
// follow the order of the hosts. Errors: kInvalidArgument for a host without
// any process, and for ports that do not exist.
absl::StatusOr<std::vector<PlacedProcess>> PlaceProcesses(
    const std::vector<LaunchHost>& hosts, int num_servers, int port);

// The addresses of all servers, for cluster.servers.
std::vector<std::string> ServerAddresses(
    const std::vector<LaunchHost>& hosts,
    const std::vector<PlacedProcess>& processes);

// Where a server listens. An address of numbers is taken as it is. A name may
// mean 127.0.1.1 on its own host (Debian's /etc/hosts), where no other host
// would reach the server: it listens on all addresses.
std::string ListenAddress(const LaunchHost& host, int port);

}  // namespace ps

#endif  // TOOLS_LAUNCH_HOSTS_H_
