// One stage of a network, planned for one batch size, that takes and gives
// plain arrays.
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

// Not owned, and must outlive the plan. The backend is the CPU's: its memory is
// the host's.
struct StagePlanOptions {
  const std::vector<PlacedLayer>* layers = nullptr;
  // The activation at the start, in the layout in which the layer before gives
  // it.
  ActivationDesc start;
  // Whether Backward computes the gradient at the start, which the images need
  // not.
  bool start_gradient = false;
  Backend* backend = nullptr;
  LayerTimes* times = nullptr;
};

// Training only. Not thread-safe.
class StagePlan {
 public:
  // Errors: those of the layers' Plan; kResourceExhausted.
  static absl::StatusOr<std::unique_ptr<StagePlan>> Create(
      const StagePlanOptions& options);

  // The activation at the end, in the layout of the last layer.
  const ActivationDesc& end_desc() const { return chain_->output(); }
  const Shape& start_shape() const { return options_.start.shape; }
  const Shape& end_shape() const { return chain_->output().shape; }

  struct Values {
    const float* weights = nullptr;  // Of this stage.
    float* statistics = nullptr;     // Likewise; updated by Forward.
    uint64_t random_key = 0;
  };
  // start: plain, of start_shape().
  absl::Status Forward(const float* start, const Values& values);
  // Of the latest Forward, plain, of end_shape().
  const float* end() const { return end_.data(); }

  // end_gradient: plain, of end_shape(), and may be start_gradient() of the
  // stage behind. Belongs to the latest Forward. gradient: of this stage's
  // weights; overwritten.
  absl::Status Backward(const float* end_gradient, const Values& values,
                        float* gradient);
  // Of the latest Backward, plain, of start_shape().
  const float* start_gradient() const { return start_gradient_.data(); }

  // Memory of activations and their gradients.
  int64_t activation_bytes() const;

 private:
  explicit StagePlan(const StagePlanOptions& options) : options_(options) {}

  const StagePlanOptions options_;
  ScratchPool scratch_;
  int64_t activation_bytes_ = 0;
  // From layouts to plain order forward, and the other way backward.
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
