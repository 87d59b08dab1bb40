// Plans what a job's workers read and when they push, by its config and the
// size of its training set.
#ifndef WORKER_TRAINING_PLAN_H_
#define WORKER_TRAINING_PLAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "data/example_order.h"
#include "data/sampler.h"
#include "proto/config.pb.h"
#include "worker/push_plan.h"

namespace ps {

// The sizes of a training set that the plan needs.
struct TrainingSet {
  int64_t num_examples = 0;
  ExampleOrder order = ExampleOrder::kShuffled;
};

struct TrainingPlan {
  Sampler sampler;
  int64_t total_iterations = 0;
  PushPlan pushes;
  // Whether all workers read all examples of each iteration, as rank 0: each
  // has a stage of the network (common/stage_workers.h).
  bool together = false;

  // The rank as which a worker reads.
  int ReaderRank(int worker_rank) const { return together ? 0 : worker_rank; }
};

// Makes the plan. Errors: those of Sampler::Create.
absl::StatusOr<TrainingPlan> PlanTraining(const JobConfig& config,
                                          const TrainingSet& set);

// Returns the place in plan `to` at which a training resumes that has made
// `push` pushes of plan `from`, because its workers are more or fewer: the
// number of pushes after which the same part of all iterations has been made,
// rounded down, but at least 1.
int64_t SamePlace(const TrainingPlan& from, int64_t push,
                  const TrainingPlan& to);

}  // namespace ps

#endif  // WORKER_TRAINING_PLAN_H_
