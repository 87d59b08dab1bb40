#include "tensor/cuda/nn/cuda_nn_kernels.h"

#include <utility>

#include "common/status_macros.h"
#include "tensor/cuda/layer_device/cuda_layer_device.h"
#include "tensor/cuda/nn/cuda_activation.h"
#include "tensor/cuda/nn/cuda_adaptive_pooling.h"
#include "tensor/cuda/nn/cuda_batch_norm.h"
#include "tensor/cuda/nn/cuda_convolution.h"
#include "tensor/cuda/nn/cuda_dropout.h"
#include "tensor/cuda/nn/cuda_linear.h"
#include "tensor/cuda/nn/cuda_loss.h"
#include "tensor/cuda/nn/cuda_pooling.h"
#include "tensor/cuda/nn/cuda_reorder.h"
#include "tensor/cuda/nn/cuda_subsampling.h"

namespace ps {
namespace {

class CudaNnKernels final : public NnKernels {
 public:
  explicit CudaNnKernels(std::shared_ptr<LayerDevice> device)
      : device_(std::move(device)) {}

  absl::StatusOr<std::unique_ptr<AffineOp>> PlanConvolution(
      const ConvolutionShape& shape, const ActivationDesc& input) override {
    return PlanCudaConvolution(device_.get(), shape, input);
  }

  absl::StatusOr<std::unique_ptr<BatchNormOp>> PlanBatchNorm(
      const BatchNormShape& shape, const ActivationDesc& input,
      const ActivationDesc* residual) override {
    return PlanCudaBatchNorm(device_.get(), shape, input, residual);
  }

  absl::StatusOr<std::unique_ptr<AffineOp>> PlanLinear(
      int64_t out_features, const ActivationDesc& input) override {
    return PlanCudaLinear(device_.get(), out_features, input);
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanPooling(
      const PoolingShape& shape, const ActivationDesc& input) override {
    return PlanCudaPooling(device_.get(), shape, input);
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanActivation(
      Activation function, const ActivationDesc& input) override {
    return PlanCudaActivation(device_.get(), function, input);
  }

  absl::StatusOr<std::unique_ptr<SumOp>> PlanSum(
      const ActivationDesc& input) override {
    return PlanCudaSum(device_.get(), input);
  }

  absl::StatusOr<std::unique_ptr<DropoutOp>> PlanDropout(
      double probability, const ActivationDesc& input) override {
    return PlanCudaDropout(device_.get(), probability, input);
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanAdaptivePooling(
      int64_t out_height, int64_t out_width,
      const ActivationDesc& input) override {
    return PlanCudaAdaptivePooling(device_.get(), out_height, out_width, input);
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanGlobalPooling(
      const ActivationDesc& input) override {
    return PlanCudaGlobalPooling(device_.get(), input);
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanSubsampling(
      const SubsamplingShape& shape, const ActivationDesc& input) override {
    return PlanCudaSubsampling(device_.get(), shape, input);
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanReorder(
      const ActivationDesc& input) override {
    return PlanCudaReorder(device_.get(), input);
  }

  absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropyOp>>
  PlanSoftmaxCrossEntropy(const ActivationDesc& logits) override {
    return PlanCudaSoftmaxCrossEntropy(device_.get(), logits);
  }

  int64_t num_reorders() const override { return device_->num_reorders(); }

 private:
  const std::shared_ptr<LayerDevice> device_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<NnKernels>> NewCudaNnKernels(
    const CudaNnOptions& options) {
  PS_ASSIGN_OR_RETURN(std::unique_ptr<LayerDevice> device,
                      NewCudaLayerDevice(options));
  return NewNnKernelsOn(std::move(device));
}

std::unique_ptr<NnKernels> NewNnKernelsOn(std::shared_ptr<LayerDevice> device) {
  return std::make_unique<CudaNnKernels>(std::move(device));
}

}  // namespace ps
