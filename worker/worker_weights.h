// Keeps the weights of a worker in delta mode, and the optimizer that moves
// them.
//
// In delta mode (config.proto, worker_optimizer) worker r holds the servers'
// weights x, which all workers share, and its own weights y. Its residual e is
// what it has not sent yet of its steps, and y = x - a e, where a is
// OptimizerConfig.step_ahead. An iteration makes the step s =
// optimizer(gradient at y), compresses e + s, and keeps the rest as the new
// residual. The servers move x by the mean of what was sent, and y follows: y =
// x - a e. Gradients are therefore always taken where the worker's own unsent
// steps are included: step-ahead error feedback, after Xu, Huo, Huang, AAAI
// 2021, arXiv 2008.05823.
//
// With a = 1, the default, each worker follows its own gradients at the full
// rate; their noise has sqrt(num_workers) times the deviation of that of the
// mean gradient. With less it also sees less of its own steps. docs/results.md
// has figures for both.
#ifndef WORKER_WORKER_WEIGHTS_H_
#define WORKER_WORKER_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizers/cuda/device_step.h"
#include "optimizers/optimizer.h"
#include "proto/config.pb.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"
#include "worker/bucket_plan.h"

namespace ps {

struct WorkerWeightsOptions {
  const JobConfig* config = nullptr;  // With a worker_optimizer. Not owned.
  int64_t num_parameters = 0;
  std::vector<RateStretch> rates;  // RateStretches; empty: all are 1.
  int64_t total_iterations = 0;    // For the schedule.
  Backend* backend = nullptr;      // Not owned; outlives this object.
};

// The weights. Not thread-safe. Begin is called first in each iteration, and
// then Step once for each element that is trained.
class WorkerWeights {
 public:
  // Creates weights of 0, until Follow sets them. Errors: kResourceExhausted.
  static absl::StatusOr<std::unique_ptr<WorkerWeights>> Create(
      const WorkerWeightsOptions& options);

  // The weights y: [num_parameters].
  const Tensor& values() const { return values_; }

  // Begins iteration number `iteration`, from 0.
  void Begin(int64_t iteration);

  // Sets the gradient's norm, for clip_norm; if this is set, it must be called
  // before the first Step.
  void Clip(double norm);

  // Makes a step of the optimizer at elements [begin, end) of y, and replaces
  // these elements of *gradient, [num_parameters], with it. With several local
  // steps y moves by all of it, otherwise as far as Follow would.
  absl::Status Step(int64_t begin, int64_t end, Tensor* gradient);

  // Sets y = x - a e for the elements of y from `begin` on, as many as both
  // tensors have.
  absl::Status Follow(int64_t begin, const Tensor& x, const Tensor& e);

  // Whether FollowAt may replace Follow.
  bool can_follow_at() const;
  // Like Follow, for the elements with these indices, counted from `begin`,
  // which must be the only ones that changed in x or that were sent. Memory
  // must be the host's.
  void FollowAt(absl::Span<const uint32_t> indices, int64_t begin,
                const Tensor& x, const Tensor& e);

  // Save and load the weights and the optimizer's state, for checkpoints, as
  // opaque bytes. LoadState returns kDataLoss, and changes nothing, for bytes
  // that SaveState did not write for the same rule and number of parameters.
  absl::StatusOr<std::string> SaveState() const;
  absl::Status LoadState(absl::string_view state);

 private:
  // One of the rule's arrays.
  struct State {
    std::string name;
    Tensor values;  // [num_parameters]
  };

  explicit WorkerWeights(const WorkerWeightsOptions& options);
  absl::Status Init();
  // Steps elements [begin, end), which have this rate.
  absl::Status StepStretch(int64_t begin, int64_t end, double rate,
                           Tensor* gradient);

  const WorkerWeightsOptions options_;
  const float ahead_;  // a
  const bool local_steps_;
  Tensor values_;                          // y
  std::unique_ptr<Optimizer> optimizer_;   // The rule, without elements.
  std::unique_ptr<DeviceStep> on_device_;  // Created on first use.
  std::vector<State> states_;
  UpdateInfo update_;
};

}  // namespace ps

#endif  // WORKER_WORKER_WEIGHTS_H_
