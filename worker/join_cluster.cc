#include "worker/join_cluster.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "common/consistency.h"
#include "common/counted.h"
#include "common/host_and_port.h"
#include "common/machine_limits.h"
#include "common/slice_elements.h"
#include "common/status_macros.h"
#include "security/credentials.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// Adds the model's tensors, in the order of the buckets.
void AddTensors(const JoinClusterOptions& options,
                ParameterClientOptions* client) {
  for (const Bucket& bucket : options.buckets) {
    for (size_t p = 0; p < options.parameters.size(); ++p) {
      const ParameterInfo& tensor = options.parameters[p];
      if (tensor.offset < bucket.begin || tensor.offset >= bucket.end) continue;
      client->tensor_sizes.push_back(NumElements(tensor.shape));
      client->tensor_is_matrix.push_back(tensor.shape.size() > 1);
      if (options.rates.empty()) continue;
      client->tensor_rates.push_back(options.rates[p]);
    }
  }
  for (const int64_t size : options.averaged) {
    client->tensor_sizes.push_back(size);
    client->tensor_is_matrix.push_back(false);
    if (!options.rates.empty()) client->tensor_rates.push_back(1);
  }
}

}  // namespace

absl::Status CheckRank(const JobConfig& config, int worker_rank) {
  const ClusterConfig& cluster = config.cluster();
  if (worker_rank < 0 || worker_rank >= cluster.num_workers()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worker rank is ", worker_rank, "; this job has ranks 0 to ",
        cluster.num_workers() - 1, " (cluster.num_workers)"));
  }
  if (cluster.servers_size() != cluster.num_servers()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cluster.servers has ", Counted(cluster.servers_size(), "address"),
        "; a worker needs one for each server, and cluster.num_servers is ",
        cluster.num_servers(), " (--set cluster.servers=HOST:PORT,...)"));
  }
  return absl::OkStatus();
}

absl::Status CheckPorts(const ClusterConfig& cluster) {
  for (int i = 0; i < cluster.servers_size(); ++i) {
    const auto address = ParseHostAndPort(cluster.servers(i));
    if (address.has_value() && address->port == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cluster.servers[", i, "] is \"", cluster.servers(i),
          "\"; workers need the port at which this server listens"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ClusterLink> JoinCluster(const JoinClusterOptions& options) {
  PS_RETURN_IF_ERROR(CheckPorts(options.config->cluster()));
  ClusterLink link;
  PS_ASSIGN_OR_RETURN(ShardMap map, PlanShards(*options.config, options.buckets,
                                               options.averaged));
  link.shard_map = std::make_unique<ShardMap>(std::move(map));

  const ClusterConfig& cluster = options.config->cluster();
  ParameterClientOptions client;
  client.servers.assign(cluster.servers().begin(), cluster.servers().end());
  client.worker_rank = options.worker_rank;
  client.num_workers = cluster.num_workers();
  client.incarnation = options.incarnation;
  client.name = options.name;
  client.cores = CoresId();
  client.config_text = SharedConfigText(*options.config);
  client.data_text = options.data_text;
  // Servers count each push as one iteration.
  client.total_iterations = options.num_pushes;
  client.was_done = options.was_done;
  client.interruption = options.interruption;
  client.num_averaged_buckets = static_cast<int>(options.averaged.size());
  AddTensors(options, &client);
  client.connections = cluster.connections();
  client.credit_bytes =
      static_cast<int64_t>(cluster.credit_megabytes() * (1 << 20));
  CredentialsOptions credentials;
  credentials.config = options.config;
  credentials.self = {options.config->name(), Role::kWorker,
                      options.worker_rank};
  PS_ASSIGN_OR_RETURN(client.credentials, Credentials::Create(credentials));
  client.keeps_snapshots = KeepsSnapshots(*options.config);
  client.max_slice_elements = MaxSliceElements(*options.config);
  client.startup_timeout = absl::Seconds(cluster.startup_timeout_seconds());
  client.lost_server_timeout =
      absl::Seconds(cluster.lost_server_timeout_seconds());
  PS_ASSIGN_OR_RETURN(link.client,
                      ParameterClient::Connect(client, link.shard_map.get()));
  return link;
}

}  // namespace ps
