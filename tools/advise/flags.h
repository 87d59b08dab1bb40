// The command lines of `gradsieve advise` and `gradsieve plan`.
#ifndef TOOLS_ADVISE_FLAGS_H_
#define TOOLS_ADVISE_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tools/advise/prediction.h"
#include "tools/bench/network/settings.h"

namespace ps {

// The options with their defaults. Empty or 0: not given.
struct AdviseFlags {
  std::string job;
  std::vector<std::string> command;  // Of a job with an external model.
  std::string bandwidth;
  int64_t burst_bytes = 0;
  int64_t workers_here = 0;
  std::string settings;
  double seconds = 3;
  int64_t turns = 3;
  std::string json;
  std::vector<std::string> overrides;
};

struct AdviseOptions {
  std::vector<NetworkSetting> settings;  // At least one.
  std::vector<std::string> worker_command;
  JobNetwork network;
  int workers_here = 0;  // 1 to cluster.num_workers.
  double seconds = 0;
  int turns = 1;
};

// `job` has the overrides already. Errors: kInvalidArgument with the option,
// its value and the rule, also for a job whose network is not known or whose
// workers do not wait for each other.
absl::StatusOr<AdviseOptions> ParseAdviseFlags(const AdviseFlags& flags,
                                               const JobConfig& job);

// The options of `gradsieve plan`. Empty or 0: not given.
struct PlanFlags {
  std::string job;
  std::string workers;
  std::string servers;
  std::string bandwidth;
  int64_t burst_bytes = 0;
  std::string settings;
  double seconds = 3;
  bool one_machine = false;
  std::string json;
  std::vector<std::string> overrides;
};

struct PlanOptions {
  std::vector<NetworkSetting> settings;  // At least one.
  // Ascending, and each at least one.
  std::vector<int> workers;
  std::vector<int> servers;
  std::vector<JobNetwork> networks;
  double seconds = 0;
  // All workers and servers share the processors of one machine.
  bool one_machine = false;
};

// `job` has the overrides already; its numbers of workers and servers stand for
// those that are not given. Errors: as for ParseAdviseFlags.
absl::StatusOr<PlanOptions> ParsePlanFlags(const PlanFlags& flags,
                                           const JobConfig& job);

}  // namespace ps

#endif  // TOOLS_ADVISE_FLAGS_H_
