#include "tensor/cuda/nn/cuda_activation.h"

#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/activation_cores.h"
#include "tensor/cuda/nn/cuda_layout.h"
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
    ActivationCore<T> core;
    core.kind = kind_;
    core.x = Elements<T>(x);
    core.y = Elements<T>(y);
    return device_->Run(core, NumElements(output_.shape));
  }
  absl::Status Backward(const float*, const float* y, const float* dy,
                        float* dx) override {
    ActivationGradientCore<T> core;
    core.kind = kind_;
    core.y = Elements<T>(y);
    core.dy = Elements<T>(dy);
    core.dx = Elements<T>(dx);
    return device_->Run(core, NumElements(output_.shape));
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
    SumCore<T> core;
    core.a = Elements<T>(a);
    core.b = Elements<T>(b);
    core.y = Elements<T>(y);
    return device_->Run(core, n_);
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const int64_t n_;
};

}  // namespace

ActivationKind KindOf(Activation function) {
  switch (function) {
    case Activation::kRelu:
      break;
    case Activation::kTanh:
      return ActivationKind::kTanh;
    case Activation::kSigmoid:
      return ActivationKind::kSigmoid;
  }
  return ActivationKind::kRelu;
}

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaActivation(
    LayerDevice* device, Activation function, const ActivationDesc& input) {
  PS_ASSIGN_OR_RETURN(
      const Storage storage,
      CheckCudaActivation(
          absl::StrCat("activation function of ", ShapeString(input.shape)),
          input));
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<UnaryOp> {
    return std::make_unique<CudaActivationFunction<decltype(element)>>(
        device, KindOf(function), input);
  });
}

absl::StatusOr<std::unique_ptr<SumOp>> PlanCudaSum(
    LayerDevice* device, const ActivationDesc& input) {
  PS_ASSIGN_OR_RETURN(
      const Storage storage,
      CheckCudaActivation(absl::StrCat("sum of ", ShapeString(input.shape)),
                          input));
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<SumOp> {
    return std::make_unique<CudaSum<decltype(element)>>(
        device, NumElements(input.shape));
  });
}

}  // namespace ps
