#include "worker/training_plan.h"

#include <algorithm>
#include <utility>

#include "common/stage_workers.h"
#include "common/status_macros.h"

namespace ps {

absl::StatusOr<TrainingPlan> PlanTraining(const JobConfig& config,
                                          const TrainingSet& set) {
  SamplerOptions options;
  options.seed = config.seed();
  options.num_examples = set.num_examples;
  options.batch_size = config.training().batch_size();
  options.num_workers = config.cluster().num_workers();
  const bool together = WorkersHaveStages(config);
  if (together) {
    options.batch_size *= options.num_workers;
    options.num_workers = 1;
  }
  options.order = set.order;
  PS_ASSIGN_OR_RETURN(Sampler sampler, Sampler::Create(options));
  const int64_t per_epoch = sampler.iterations_per_epoch();
  PushPlanOptions plan;
  plan.total_iterations = config.training().epochs() * per_epoch;
  if (config.training().max_iterations() > 0) {
    plan.total_iterations =
        std::min(plan.total_iterations, config.training().max_iterations());
  }
  plan.local_steps = config.consistency().local_steps();
  plan.evaluate_every =
      config.training().evaluate_every_iterations() > 0
          ? config.training().evaluate_every_iterations()
          : config.training().evaluate_every_epochs() * per_epoch;
  return TrainingPlan{std::move(sampler), plan.total_iterations,
                      PushPlan(plan), together};
}

int64_t SamePlace(const TrainingPlan& from, int64_t push,
                  const TrainingPlan& to) {
  // The result is in whole iterations, so that no evaluation is made twice.
  const auto iteration =
      static_cast<int64_t>(static_cast<__int128>(from.pushes.Begin(push)) *
                           to.total_iterations / from.total_iterations);
  int64_t low = 1;
  int64_t high = to.pushes.num_pushes();
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (to.pushes.Begin(middle) <= iteration) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace ps
