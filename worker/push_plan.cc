#include "worker/push_plan.h"

#include <algorithm>

namespace ps {
namespace {

int64_t DividedUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

PushPlan::PushPlan(const PushPlanOptions& options) : options_(options) {
  if (options_.evaluate_every == 0) {
    options_.evaluate_every = std::max<int64_t>(1, options_.total_iterations);
  }
  pushes_per_evaluation_ =
      DividedUp(options_.evaluate_every, options_.local_steps);
  num_pushes_ = options_.total_iterations / options_.evaluate_every *
                    pushes_per_evaluation_ +
                DividedUp(options_.total_iterations % options_.evaluate_every,
                          options_.local_steps);
}

int64_t PushPlan::Begin(int64_t push) const {
  if (push >= num_pushes_) return options_.total_iterations;
  return push / pushes_per_evaluation_ * options_.evaluate_every +
         push % pushes_per_evaluation_ * options_.local_steps;
}

int64_t PushPlan::NumEvaluations(int64_t pushes) const {
  if (pushes < num_pushes_) return pushes / pushes_per_evaluation_;
  return DividedUp(options_.total_iterations, options_.evaluate_every);
}

}  // namespace ps
