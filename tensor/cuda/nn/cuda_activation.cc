#include "tensor/cuda/nn/cuda_activation.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/activation_cores.h"
#include "tensor/cuda/nn/plain_activation.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

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
    ReluCore core;
    core.sign = sign;
    core.value = value;
    core.result = result;
    return device_->Run(core, output_.num_floats);
  }

  LayerDevice* const device_;  // Not owned.
  const ActivationDesc output_;
};

// tanh and sigmoid.
template <typename Core, typename GradientCore>
class CudaSmoothActivation final : public UnaryOp {
 public:
  CudaSmoothActivation(LayerDevice* device, const ActivationDesc& output)
      : device_(device), output_(output) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    Core core;
    core.x = x;
    core.y = y;
    return device_->Run(core, output_.num_floats);
  }
  absl::Status Backward(const float*, const float* y, const float* dy,
                        float* dx) override {
    GradientCore core;
    core.y = y;
    core.dy = dy;
    core.dx = dx;
    return device_->Run(core, output_.num_floats);
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const ActivationDesc output_;
};

// All layouts are plain, so a reorder is a copy.
class CudaReorder final : public UnaryOp {
 public:
  CudaReorder(LayerDevice* device, const ActivationDesc& output)
      : device_(device), output_(output) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override { return Copy(x, y); }
  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    return Copy(dy, dx);
  }

 private:
  absl::Status Copy(const float* from, float* to) {
    return device_->Copy(
        from, output_.num_floats * static_cast<int64_t>(sizeof(float)), to);
  }

  LayerDevice* const device_;  // Not owned.
  const ActivationDesc output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaActivation(
    LayerDevice* device, Activation function, const ActivationDesc& input) {
  PS_RETURN_IF_ERROR(CheckPlain(
      absl::StrCat("activation function of ", ShapeString(input.shape)),
      input));
  switch (function) {
    case Activation::kRelu:
      break;
    case Activation::kTanh:
      return std::make_unique<CudaSmoothActivation<TanhCore, TanhGradientCore>>(
          device, input);
    case Activation::kSigmoid:
      return std::make_unique<
          CudaSmoothActivation<SigmoidCore, SigmoidGradientCore>>(device,
                                                                  input);
  }
  return std::make_unique<CudaRelu>(device, input);
}

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaReorder(
    LayerDevice* device, const ActivationDesc& input) {
  PS_RETURN_IF_ERROR(
      CheckPlain(absl::StrCat("reorder of ", ShapeString(input.shape)), input));
  return std::make_unique<CudaReorder>(device, input);
}

}  // namespace ps
