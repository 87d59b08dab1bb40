// The last step of a sequence, or the mean over its steps, on CUDA.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/elementwise.cuh"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/sequences/cuda_sequence_kernels.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// The input is [steps, step], the output [step].
template <typename T>
class CudaStepReduction final : public UnaryOp {
 public:
  CudaStepReduction(LayerDevice* device, StepReduction reduction,
                    const Shape& input, ActivationDesc output)
      : device_(device),
        steps_(input[0]),
        step_(input[1] * input[2]),
        first_(reduction == StepReduction::kMean ? 0 : input[0] - 1),
        output_(std::move(output)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* memory, float* result) override {
    const int64_t steps = steps_, step = step_, first = first_;
    const float share = this->share();
    const T* const x = Elements<T>(memory);
    T* const y = Elements<T>(result);
    return LaunchElements(device_, "StepReduction", step,
                          [=] __device__(int64_t i) {
                            float sum = x[first * step + i];
                            for (int64_t t = first + 1; t < steps; ++t)
                              sum += x[t * step + i];
                            y[i] = sum * share;
                          });
  }

  absl::Status Backward(const float*, const float*, const float* gradient,
                        float* result) override {
    const int64_t steps = steps_, step = step_, first = first_;
    const float share = this->share();
    const T* const dy = Elements<T>(gradient);
    T* const dx = Elements<T>(result);
    return LaunchElements(device_, "StepReductionGradient", step,
                          [=] __device__(int64_t i) {
                            for (int64_t t = 0; t < first; ++t)
                              dx[t * step + i] = T(0.0f);
                            const T each = static_cast<float>(dy[i]) * share;
                            for (int64_t t = first; t < steps; ++t)
                              dx[t * step + i] = each;
                          });
  }

 private:
  // Of each step that counts.
  float share() const { return 1.0f / static_cast<float>(steps_ - first_); }

  LayerDevice* const device_;  // Not owned.
  const int64_t steps_;
  const int64_t step_;
  const int64_t first_;  // Of the steps that count: 0, or the last one.
  const ActivationDesc output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> CudaSequenceKernels::PlanStepReduction(
    StepReduction reduction, const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("one vector for the steps of ", ShapeString(input.shape));
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaSequence(what, input));
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<UnaryOp> {
    return std::make_unique<CudaStepReduction<decltype(element)>>(
        device(), reduction, input.shape,
        CudaActivation(storage, {input.shape[1], input.shape[2]}));
  });
}

}  // namespace ps
