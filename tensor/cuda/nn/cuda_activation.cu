// Activation functions and sums on CUDA, element by element. The result may be
// the same array as an argument.

#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/elementwise.cuh"
#include "tensor/cuda/nn/activation.cuh"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

template <typename T>
class CudaActivationFunction final : public UnaryOp {
 public:
  CudaActivationFunction(LayerDevice* device, ActivationKind kind,
                         const ActivationDesc& output)
      : device_(device), kind_(kind), output_(output) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    const ActivationKind kind = kind_;
    return LaunchPackets(
        device_, "Activation", NumElements(output_.shape),
        [=] __device__(float x) { return Activated(kind, x); }, Elements<T>(y),
        Elements<T>(x));
  }

  absl::Status Backward(const float*, const float* y, const float* dy,
                        float* dx) override {
    const ActivationKind kind = kind_;
    return LaunchPackets(
        device_, "ActivationGradient", NumElements(output_.shape),
        [=] __device__(float y, float dy) {
          return ActivationGradient(kind, y, dy);
        },
        Elements<T>(dx), Elements<T>(y), Elements<T>(dy));
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const ActivationKind kind_;
  const ActivationDesc output_;
};

template <typename T>
class CudaSum final : public SumOp {
 public:
  CudaSum(LayerDevice* device, int64_t n) : device_(device), n_(n) {}

  absl::Status Run(const float* a, const float* b, float* y) override {
    if (b == nullptr) {
      return a == y ? absl::OkStatus()
                    : device_->Copy(a, n_ * static_cast<int64_t>(sizeof(T)), y);
    }
    return LaunchPackets(
        device_, "Sum", n_, [] __device__(float a, float b) { return a + b; },
        Elements<T>(y), Elements<T>(a), Elements<T>(b));
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const int64_t n_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> CudaNnKernels::PlanActivation(
    Activation function, const ActivationDesc& input) {
  PS_ASSIGN_OR_RETURN(
      const Storage storage,
      CheckCudaActivation(
          absl::StrCat("activation function of ", ShapeString(input.shape)),
          input));
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<UnaryOp> {
    return std::make_unique<CudaActivationFunction<decltype(element)>>(
        device(), KindOf(function), input);
  });
}

absl::StatusOr<std::unique_ptr<SumOp>> CudaNnKernels::PlanSum(
    const ActivationDesc& input) {
  PS_ASSIGN_OR_RETURN(
      const Storage storage,
      CheckCudaActivation(absl::StrCat("sum of ", ShapeString(input.shape)),
                          input));
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<SumOp> {
    return std::make_unique<CudaSum<decltype(element)>>(
        device(), NumElements(input.shape));
  });
}

}  // namespace ps
