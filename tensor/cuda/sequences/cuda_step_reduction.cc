#include "tensor/cuda/sequences/cuda_step_reduction.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/sequences/step_reduction_cores.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

template <typename T>
class CudaStepReduction final : public UnaryOp {
 public:
  CudaStepReduction(LayerDevice* device, StepReduction reduction,
                    const Shape& input, ActivationDesc output)
      : device_(device), output_(std::move(output)) {
    geometry_.steps = input[0];
    geometry_.step = input[1] * input[2];
    geometry_.first = reduction == StepReduction::kMean ? 0 : input[0] - 1;
  }

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    StepReductionCore<T> core;
    core.geometry = geometry_;
    core.x = Elements<T>(x);
    core.y = Elements<T>(y);
    return device_->Run(core, geometry_.step);
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    StepReductionGradientCore<T> core;
    core.geometry = geometry_;
    core.dy = Elements<T>(dy);
    core.dx = Elements<T>(dx);
    return device_->Run(core, geometry_.step);
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const ActivationDesc output_;
  StepReductionGeometry geometry_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaStepReduction(
    LayerDevice* device, StepReduction reduction, const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("one vector for the steps of ", ShapeString(input.shape));
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaSequence(what, input));
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<UnaryOp> {
    return std::make_unique<CudaStepReduction<decltype(element)>>(
        device, reduction, input.shape,
        CudaActivation(storage, {input.shape[1], input.shape[2]}));
  });
}

}  // namespace ps
