// How long an iteration takes with more workers and servers than this machine
// can run, and what limits it.
#ifndef TOOLS_ADVISE_PLAN_H_
#define TOOLS_ADVISE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/advise/flags.h"
#include "tools/advise/prediction.h"
#include "tools/advise/scaling.h"

namespace ps {

// What one setting takes of memory at most (a server) and about (a worker).
struct PlanMemory {
  // Of the server that takes most, by numbers of workers and servers.
  std::map<std::pair<int, int>, int64_t> server_bytes;
  int64_t worker_bytes = 0;
};

// Reads the job's data, on which the size of the model depends. Errors: those
// of the config and the data; for a model that cannot be cut among one of the
// numbers of servers, the error names this number.
absl::StatusOr<PlanMemory> PlanMemoryOf(const PlanOptions& options,
                                        const JobConfig& config);

struct MeasuredSetting {
  ScalingMeasures measures;
  PlanMemory memory;
};

// One combination.
struct PlanRow {
  int workers = 0;
  int servers = 0;
  JobNetwork network;
  std::vector<SettingPrediction> settings;  // Those of the options.
};

// What to choose for one number of workers on one network.
struct PlanChoice {
  size_t row = 0;
  size_t setting = 0;
  // Seconds of an iteration with twice as many servers; none if the model
  // has too few slices for them.
  std::optional<double> doubled;
};

struct Plan {
  std::string job;
  int64_t num_parameters = 0;
  bool one_machine = false;
  std::vector<MeasuredSetting> measured;  // By setting.
  // By network, then workers, then servers.
  std::vector<PlanRow> rows;
  // By network, then workers.
  std::vector<PlanChoice> choices;
};

// `measured` has what was measured of each setting. The choice is the first
// setting, and of these the least number of servers, that is recommended
// (Recommended()). Errors: those of PredictSetting.
absl::StatusOr<Plan> MakePlan(const PlanOptions& options,
                              std::vector<MeasuredSetting> measured);

// A sentence that says what to take, and what limits it then.
std::string ChoiceText(const Plan& plan, const PlanChoice& choice);

// A table for each network with the recommended setting of each combination, a
// legend, and the sentences for the largest number of workers.
std::string PlanReport(const Plan& plan);

// One JSON object, with all settings of all combinations.
std::string PlanJson(const Plan& plan);

}  // namespace ps

#endif  // TOOLS_ADVISE_PLAN_H_
