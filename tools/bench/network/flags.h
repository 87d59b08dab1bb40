// The command line of `gradsieve bench network`.
#ifndef TOOLS_BENCH_NETWORK_FLAGS_H_
#define TOOLS_BENCH_NETWORK_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tools/bench/network/bench.h"

namespace ps {

// The options with their defaults. Empty: not given.
struct NetworkBenchFlags {
  std::string job;
  std::string bandwidth = "1gbit";
  std::string settings = "none,none:bf16,topk:0.01,dgc:0.01,sidco_e:0.01";
  int64_t iterations = 50;
  int64_t timed_iterations = 0;
  int64_t warm_up = 5;
  int64_t smoothing = 5;
  std::string target_loss;
  bool stop_at_target = false;
  bool evaluate = false;
  std::string json;
  std::string run_dir;
  std::vector<std::string> overrides;
};

// `job` has the overrides already. Errors: kInvalidArgument with the option,
// its value and the rule.
absl::StatusOr<NetworkBenchOptions> ParseNetworkBenchFlags(
    const NetworkBenchFlags& flags, const JobConfig& job);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_FLAGS_H_
