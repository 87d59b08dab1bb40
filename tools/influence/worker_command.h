// The processes that `gradsieve influence` starts to do its work.
#ifndef TOOLS_INFLUENCE_WORKER_COMMAND_H_
#define TOOLS_INFLUENCE_WORKER_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/influence/gradient_products.h"
#include "tools/influence/plan.h"
#include "tools/influence/sums.h"

namespace ps {

// The first argument of `gradsieve influence` that makes it such a process.
// Users do not call this command.
constexpr char kInfluenceWorker[] = "worker";

// argv[0] is kInfluenceWorker. Returns the exit code.
int RunInfluenceWorker(int argc, char** argv);

struct WorkDone {
  InfluenceSums sums;
  ExampleScores queries;  // At the last checkpoint.
};

// Does the plan's work in up to `num_processes` processes. The result has the
// same bits whatever their number, and whichever of them are lost. Tells about
// progress and losses on stderr. Errors: those of DoAllUnits and UnitWork.
// sketches: the .npy file of the sketches, if the plan has any.
absl::StatusOr<WorkDone> DoWork(const InfluencePlan& plan,
                                int64_t num_processes,
                                const std::string& sketches);

}  // namespace ps

#endif  // TOOLS_INFLUENCE_WORKER_COMMAND_H_
