// Trains one job with several settings, one after the other, on one slow
// network.
#ifndef TOOLS_BENCH_NETWORK_BENCH_H_
#define TOOLS_BENCH_NETWORK_BENCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/local_cluster.h"
#include "tools/bench/network/comparison.h"
#include "tools/bench/network/measures.h"
#include "tools/bench/network/settings.h"

namespace ps {

struct NetworkBenchOptions {
  std::string job;                       // What the comparison is called.
  std::vector<NetworkSetting> settings;  // At least one.
  // As of SlowNetworkOptions. At least one; with several of them each run
  // meets them all, and timed_iterations is not 0.
  std::vector<int64_t> bits_per_second;
  // So many iterations are timed at each bandwidth, after the warm-up, and the
  // rest of a run passes without a limit: the time to a loss is the number of
  // iterations to it times the mean of those that are timed. 0: all iterations
  // are timed. Settings are synchronous then, and choose nothing by the clock.
  int64_t timed_iterations = 0;
  MeasureOptions measure;
  // A run ends when it has reached its target, not only after its iterations.
  bool stop_at_target = false;
  // Runs go on to their last evaluation and write weights and a summary. Else
  // they are stopped when their last iteration is recorded.
  bool evaluate = false;
  // Exists; each run gets a folder in it, "01-topk_0.01".
  std::string run_directory;
  std::string server_program;
  std::string worker_program;
};

// How it ended, with what there is of it.
struct NetworkBenchResult {
  // OK also if runs failed: their `failure` says so, and the others went on.
  // Else kCancelled after Ctrl-C or SIGTERM, or why there is no network.
  absl::Status status;
  // By bandwidth, each perhaps without runs. In all of them the same runs.
  std::vector<NetworkComparison> comparisons;
};

// Every worker and every server is a host of its own. Shows progress on stdout.
// A run whose messages did not all go over the links has failed. Whatever
// happens, no process and no network is left.
NetworkBenchResult RunNetworkBench(const NetworkBenchOptions& options);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_BENCH_H_
