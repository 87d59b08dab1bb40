// Plans one stage of a network for one batch size, with plain arrays at its
// ends.
#ifndef WORKER_LAYER_PARALLEL_STAGE_PLAN_H_
#define WORKER_LAYER_PARALLEL_STAGE_PLAN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/layers/chain.h"
#include "models/layers/layer_times.h"
#include "models/layers/scratch_pool.h"
#include "tensor/backend.h"
#include "tensor/nn_kernels.h"
#include "tensor/tensor.h"

namespace ps {

// The options. The pointers are not owned, and must outlive the plan. The
// backend is the CPU's: its memory is the host's.
struct StagePlanOptions {
  const std::vector<PlacedLayer>* layers = nullptr;
  // The activation at the start, in the layout of the layer before.
  ActivationDesc start;
  // Whether Backward computes the gradient at the start, which images do not
  // need.
  bool start_gradient = false;
  Backend* backend = nullptr;
  LayerTimes* times = nullptr;
};

// The plan, for training only. Not thread-safe.
class StagePlan {
 public:
  // Plans the stage. Errors: those of the layers' Plan; kResourceExhausted.
  static absl::StatusOr<std::unique_ptr<StagePlan>> Create(
      const StagePlanOptions& options);

  // The activation at the end, in the layout of the last layer.
  const ActivationDesc& end_desc() const { return chain_->output(); }
  const Shape& start_shape() const { return options_.start.shape; }
  const Shape& end_shape() const { return chain_->output().shape; }

  struct Values {
    const float* weights = nullptr;  // The stage's weights.
    float* statistics = nullptr;     // The stage's; updated by Forward.
    uint64_t random_key = 0;
  };
  // Runs the stage. start: plain, of start_shape().
  absl::Status Forward(const float* start, const Values& values);
  // The output of the latest Forward, of end_shape(), in plain order.
  const float* end() const { return end_.data(); }

  // Backpropagates the latest Forward. end_gradient: plain, of end_shape(), and
  // may be start_gradient() of the stage behind. gradient: of this stage's
  // weights; overwritten.
  absl::Status Backward(const float* end_gradient, const Values& values,
                        float* gradient);
  // The gradient of the latest Backward, of start_shape(), in plain order.
  const float* start_gradient() const { return start_gradient_.data(); }

  // The memory of activations and their gradients.
  int64_t activation_bytes() const;

 private:
  explicit StagePlan(const StagePlanOptions& options) : options_(options) {}

  const StagePlanOptions options_;
  ScratchPool scratch_;
  int64_t activation_bytes_ = 0;
  // The conversions from layouts to plain order forward, and back backward.
  std::unique_ptr<UnaryOp> start_order_;
  std::unique_ptr<UnaryOp> end_order_;
  std::unique_ptr<PlannedChain> chain_;
  Tensor start_in_layout_;
  Tensor start_gradient_in_layout_;
  Tensor end_in_layout_;
  Tensor end_gradient_in_layout_;
  Tensor end_;
  Tensor start_gradient_;
};

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_STAGE_PLAN_H_
