// A whole job inside one test: servers and workers as threads, over real
// sockets on loopback.
#ifndef TESTS_CLUSTER_IN_PROCESS_CLUSTER_H_
#define TESTS_CLUSTER_IN_PROCESS_CLUSTER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "worker/trainer.h"

namespace ps {

struct ClusterRun {
  // The workers' results, by rank.
  std::vector<absl::StatusOr<TrainingResult>> workers;
  // The servers' results, by index.
  std::vector<absl::Status> servers;

  bool ok() const;
};

// Runs the job `config` to its end on free ports. Worker 0 records the run in
// the directory, unless that is empty. overlap_compression: see TrainerOptions.
// A worker that fails stops the servers, unless the job tolerates its loss.
ClusterRun RunCluster(const JobConfig& config,
                      const std::string& run_directory = "",
                      std::optional<bool> overlap_compression = {});

// The same, but `asked_to_stop` asks the last worker before each push whether
// it is to end, with the number of the question.
ClusterRun RunClusterUntil(const JobConfig& config,
                           const std::string& run_directory,
                           const std::function<bool(int push)>& asked_to_stop);

// The same, but each worker calls `before_push` before each of its pushes, with
// its rank and the number of the push; it may wait there for other workers.
ClusterRun RunClusterHeld(
    const JobConfig& config,
    const std::function<void(int rank, int push)>& before_push);

// A job that trains lenet5 on a few generated digits for a few iterations.
JobConfig SmallJob(int num_workers, int num_servers);

}  // namespace ps

#endif  // TESTS_CLUSTER_IN_PROCESS_CLUSTER_H_
