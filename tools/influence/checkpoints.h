// The snapshots of a run over which influence is summed.
#ifndef TOOLS_INFLUENCE_CHECKPOINTS_H_
#define TOOLS_INFLUENCE_CHECKPOINTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"
#include "worker/training_plan.h"

namespace ps {

struct InfluenceCheckpoint {
  int64_t push = 0;  // Pushes that had been made.
  // Of the next update.
  double learning_rate = 0;
  // The mean training loss since the snapshot before; NaN if the run has not
  // recorded it.
  double training_loss = 0;
  std::string weights;  // A .safetensors file.
};

struct CheckpointSource {
  std::string run;        // A run directory; for the training losses.
  std::string snapshots;  // It, or a checkpoint.directory.
  const JobConfig* config = nullptr;  // Not owned.
  TrainingSet set;
};

// The learning rate of the update after `push` pushes, which is computed from
// the weights that a snapshot holds: that of optimizer or, in delta mode, the
// product of those of both rules.
double LearningRateAfter(const JobConfig& config, const TrainingPlan& plan,
                         int64_t push);

// All whole snapshots of worker 0, in ascending order. Reads and checks all of
// their weights. Errors: those of FindJobSnapshots; kFailedPrecondition if the
// workers of the job drift apart, so that a snapshot mixes weights of several
// moments; kInvalidArgument if the training set does not have as many examples
// as that of the run.
absl::StatusOr<std::vector<InfluenceCheckpoint>> FindCheckpoints(
    const CheckpointSource& source);

// Chooses by --checkpoints: "all"; "every:N", each N-th, counted back from the
// last; "spread:N", the N whose training losses are nearest to equal steps
// between the first and the last; or a list of numbers of pushes, as in
// "100,200,400". Errors: kInvalidArgument for anything else, or if nothing
// useful is left: fewer than two checkpoints that were not listed, or only
// learning rates of 0. Then, and with fewer than N of spread:N, the message
// says which fields of the job keep more.
struct ChosenCheckpoints {
  std::vector<InfluenceCheckpoint> checkpoints;  // At least one; ascending.
  std::string warning;  // If there are fewer than asked for; else empty.
};
absl::StatusOr<ChosenCheckpoints> ChooseCheckpoints(
    const std::vector<InfluenceCheckpoint>& kept, absl::string_view selector);

}  // namespace ps

#endif  // TOOLS_INFLUENCE_CHECKPOINTS_H_
