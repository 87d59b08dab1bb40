// Trains one job with several settings, one after the other, on one slow
// network.
#ifndef TOOLS_NETWORK_BENCH_H_
#define TOOLS_NETWORK_BENCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/local_cluster.h"
#include "tools/network/comparison.h"
#include "tools/network/measures.h"
#include "tools/network/settings.h"

namespace ps {

struct NetworkBenchOptions {
  std::string job;                       // What the comparison is called.
  std::vector<NetworkSetting> settings;  // At least one.
  int64_t bits_per_second = 0;           // As of SlowNetworkOptions.
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
  NetworkComparison comparison;  // Perhaps without runs.
};

// Every worker and every server is a host of its own. Shows progress on stdout.
// A run whose messages did not all go over the links has failed. Whatever
// happens, no process and no network is left.
NetworkBenchResult RunNetworkBench(const NetworkBenchOptions& options);

}  // namespace ps

#endif  // TOOLS_NETWORK_BENCH_H_
