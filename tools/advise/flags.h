// The command line of `gradsieve advise`.
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

}  // namespace ps

#endif  // TOOLS_ADVISE_FLAGS_H_
