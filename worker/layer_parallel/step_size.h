// Computes the size of the steps of auxiliary variables.
#ifndef WORKER_LAYER_PARALLEL_STEP_SIZE_H_
#define WORKER_LAYER_PARALLEL_STEP_SIZE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "worker/layer_parallel/stage_plan.h"

namespace ps {

// Returns an estimate, from below, of the largest singular value of the
// Jacobian of a stage, from its start to its end, after three power iterations.
// start: plain, of the stage's start_shape(). gradient: [the stage's weights],
// overwritten. Changes the statistics in `values`.
absl::StatusOr<double> LargestSingularValue(const float* start,
                                            const StagePlan::Values& values,
                                            float* gradient, StagePlan* stage);

// Returns half of the largest step that is stable when all variables move at
// once, for a network of this many stages whose Jacobians have singular values
// up to `singular_value` (1 if it is less). With three stages or more, a step
// of 1 / penalty diverges: the mismatches of neighbouring cuts drive each
// other.
double StableStep(int stages, double penalty, double singular_value);

// Watches the mismatch at a cut. If a step is too large, it grows from one
// visit of an example to the next, which is an epoch later; means of whole
// epochs do not depend on which examples a batch has.
struct StepGuard {
  double latest = 0;  // The mean of the previous epoch; 0 if there is none.
  double sum = 0;     // The sum of this epoch so far.
  int64_t batches = 0;

  // Adds the mismatch of the next batch. Returns true if it ends an epoch whose
  // mean is more than twice that of the previous epoch: the step must be halved
  // then.
  bool Grows(double mismatch, int64_t batches_per_epoch);
};

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_STEP_SIZE_H_
