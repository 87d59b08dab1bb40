#include "tools/bench/client.h"

#include <random>

#include "absl/time/time.h"
#include "common/config.h"
#include "common/consistency.h"
#include "common/program.h"
#include "common/slice_elements.h"
#include "common/status_macros.h"

namespace ps {

absl::StatusOr<ParameterClientOptions> BenchClientOptions(
    const JobConfig& job, int worker_rank, int64_t total_iterations) {
  const ClusterConfig& cluster = job.cluster();
  ParameterClientOptions options;
  options.servers.assign(cluster.servers().begin(), cluster.servers().end());
  options.worker_rank = worker_rank;
  std::random_device random;
  options.incarnation = uint64_t{random()} << 32 | random();
  options.name = ProcessName();
  options.config_text = SharedConfigText(job);
  options.total_iterations = total_iterations;
  CredentialsOptions credentials;
  credentials.config = &job;
  credentials.self = {job.name(), Role::kWorker, worker_rank};
  PS_ASSIGN_OR_RETURN(options.credentials, Credentials::Create(credentials));
  options.keeps_snapshots = KeepsSnapshots(job);
  options.max_slice_elements = MaxSliceElements(job);
  options.connections = cluster.connections();
  options.credit_bytes =
      static_cast<int64_t>(cluster.credit_megabytes() * (1 << 20));
  options.startup_timeout = absl::Seconds(cluster.startup_timeout_seconds());
  options.lost_server_timeout =
      absl::Seconds(cluster.lost_server_timeout_seconds());
  return options;
}

}  // namespace ps
