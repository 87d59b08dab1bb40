#include "server/limits/connection_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ps {
namespace {

// Other files: listening sockets, standard streams, a log, snapshots, servers.
constexpr int64_t kOtherFiles = 64;
// The connections of unauthenticated peers, in addition to the job's.
constexpr int64_t kStrangers = 64;

int64_t OfJob(const ClusterConfig& cluster) {
  return int64_t{cluster.num_workers()} * (cluster.connections() + 1) +
         cluster.num_servers();
}

}  // namespace

int64_t MaxConnections(const ClusterConfig& cluster) {
  return 2 * OfJob(cluster) + kStrangers;
}

absl::StatusOr<ConnectionLimits> ConnectionLimitsFor(
    const ClusterConfig& cluster) {
  const int64_t of_job = OfJob(cluster);
  rlimit files = {};
  int64_t allowed = std::numeric_limits<int>::max();
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 &&
      files.rlim_cur < static_cast<rlim_t>(allowed)) {
    allowed = static_cast<int64_t>(files.rlim_cur);
  }
  if (allowed < of_job + kOtherFiles) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this process may have ", allowed, " open files, and ",
        cluster.num_workers(), " workers need up to ", of_job + kOtherFiles,
        "; raise the hard limit (ulimit -Hn), or lower cluster.connections"));
  }
  ConnectionLimits limits;
  limits.per_host =
      static_cast<int>(std::min(2 * of_job, allowed - kOtherFiles));
  limits.total = static_cast<int>(
      std::min(MaxConnections(cluster), allowed - kOtherFiles));
  return limits;
}

}  // namespace ps
