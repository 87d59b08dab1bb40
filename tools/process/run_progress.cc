#include "tools/process/run_progress.h"

#include "absl/time/time.h"

namespace ps {

Progress ProgressOf(const RunState& state) {
  Progress progress;
  progress.iteration = state.iteration;
  progress.total_iterations = state.total_iterations;
  progress.epoch = state.epoch;
  progress.loss = state.training_loss;
  progress.samples_per_second = state.samples_per_second;
  progress.achieved_ratio = state.achieved_ratio;
  progress.bytes_up = state.bytes_up;
  progress.bytes_down = state.bytes_down;
  progress.eta = EstimateRemaining(state.iteration, state.total_iterations,
                                   absl::Seconds(state.seconds));
  return progress;
}

}  // namespace ps
