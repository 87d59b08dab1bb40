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
class CudaRelu final : public UnaryOp {
 public:
  CudaRelu(LayerDevice* device, const ActivationDesc& output)
      : device_(device), output_(output) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    return Run(x, x, y);
  }
  absl::Status Backward(const float*, const float* y, const float* dy,
                        float* dx) override {
    return Run(y, dy, dx);
  }

 private:
  absl::Status Run(const float* sign, const float* value, float* result) {
    ReluCore<T> core;
    core.sign = Elements<T>(sign);
    core.value = Elements<T>(value);
    core.result = Elements<T>(result);
    return device_->Run(core, NumElements(output_.shape));
  }

  LayerDevice* const device_;  // Not owned.
  const ActivationDesc output_;
};

// Used for tanh and sigmoid.
template <typename T, template <typename> class Core,
          template <typename> class GradientCore>
class CudaSmoothActivation final : public UnaryOp {
 public:
  CudaSmoothActivation(LayerDevice* device, const ActivationDesc& output)
      : device_(device), output_(output) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    Core<T> core;
    core.x = Elements<T>(x);
    core.y = Elements<T>(y);
    return device_->Run(core, NumElements(output_.shape));
  }
  absl::Status Backward(const float*, const float* y, const float* dy,
                        float* dx) override {
    GradientCore<T> core;
    core.y = Elements<T>(y);
    core.dy = Elements<T>(dy);
    core.dx = Elements<T>(dx);
    return device_->Run(core, NumElements(output_.shape));
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const ActivationDesc output_;
};

template <typename T>
std::unique_ptr<UnaryOp> NewActivation(LayerDevice* device, Activation function,
                                       const ActivationDesc& input) {
  switch (function) {
    case Activation::kRelu:
      break;
    case Activation::kTanh:
      return std::make_unique<
          CudaSmoothActivation<T, TanhCore, TanhGradientCore>>(device, input);
    case Activation::kSigmoid:
      return std::make_unique<
          CudaSmoothActivation<T, SigmoidCore, SigmoidGradientCore>>(device,
                                                                     input);
  }
  return std::make_unique<CudaRelu<T>>(device, input);
}

template <typename T>
class CudaSum final : public SumOp {
 public:
  CudaSum(LayerDevice* device, int64_t n) : device_(device), n_(n) {}

  absl::Status Run(const float* a, const float* b, float* y) override {
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

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaActivation(
    LayerDevice* device, Activation function, const ActivationDesc& input) {
  PS_ASSIGN_OR_RETURN(
      const Storage storage,
      CheckCudaActivation(
          absl::StrCat("activation function of ", ShapeString(input.shape)),
          input));
  return WithElementOf(storage, [&](auto element) {
    return NewActivation<decltype(element)>(device, function, input);
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
