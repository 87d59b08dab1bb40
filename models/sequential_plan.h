// A chain of layers, planned for one batch size: the buffers between them, and
// the order in which they run.
#ifndef MODELS_SEQUENTIAL_PLAN_H_
#define MODELS_SEQUENTIAL_PLAN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/batch.h"
#include "models/layer.h"
#include "models/model.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

// A layer and its part of the flat vector.
struct PlacedLayer {
  std::unique_ptr<Layer> layer;
  int64_t begin = 0;
  int64_t end = 0;

  bool has_parameters() const { return begin < end; }
};

// Not thread-safe.
class SequentialPlan {
 public:
  // Allocates everything. `backend` outlives the plan. Errors: kInvalidArgument
  // when the layers do not fit together, or do not end in
  // [batch, num_classes].
  static absl::StatusOr<std::unique_ptr<SequentialPlan>> Create(
      const std::vector<PlacedLayer>& layers, const ExampleShape& example,
      int64_t batch_size, Backend* backend);

  // batch: of this plan's size. With `want_gradient` the loss's gradient is
  // kept for Backward.
  absl::StatusOr<BatchResult> Forward(const Batch& batch, const float* weights,
                                      bool want_gradient);

  // The gradient of the latest Forward, which must have wanted it and has
  // returned `forward`.
  absl::Status Backward(const BatchResult& forward, const float* weights,
                        float* gradient, const GradientReady& ready);

 private:
  struct Step {
    std::unique_ptr<PlannedLayer> layer;
    int64_t begin = 0;  // In the flat vector.
    int64_t end = 0;
    Tensor output;
  };

  explicit SequentialPlan(Backend* backend) : backend_(backend) {}

  Backend* const backend_;  // Not owned.
  Tensor input_;            // [batch, channels, height, width]
  std::vector<Step> steps_;
  size_t lowest_ = 0;  // The first step that has parameters.
  std::unique_ptr<SoftmaxCrossEntropyOp> loss_;
  // The gradient of a step's output is read while that of its input is
  // written, so two buffers serve all steps. Each holds the largest.
  Tensor gradients_[2];
};

}  // namespace ps

#endif  // MODELS_SEQUENTIAL_PLAN_H_
