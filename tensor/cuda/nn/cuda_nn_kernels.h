// The layers on CUDA.
//
// Activations have the layouts of cuda_layout.h: bfloat16 if the device
// computes with it, starting with the output of the first layer with weights.
// Everything except products, and sums over products, is computed in floats
// either way. All work runs in the order of one stream; only the loss, which
// returns a result to the host, waits for it. Scratch and memory kept for
// Backward are allocated when planning.
//
// The methods are defined in the files of their operations.
#ifndef TENSOR_CUDA_NN_CUDA_NN_KERNELS_H_
#define TENSOR_CUDA_NN_CUDA_NN_KERNELS_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/nn_kernels.h"

namespace ps {

class CudaNnKernels final : public NnKernels {
 public:
  explicit CudaNnKernels(std::shared_ptr<LayerDevice> device)
      : device_(std::move(device)) {}

  absl::StatusOr<std::unique_ptr<AffineOp>> PlanConvolution(
      const ConvolutionShape& shape, const ActivationDesc& input) override;
  absl::StatusOr<std::unique_ptr<BatchNormOp>> PlanBatchNorm(
      const BatchNormShape& shape, const ActivationDesc& input,
      const ActivationDesc* residual) override;
  absl::StatusOr<std::unique_ptr<AffineOp>> PlanLinear(
      int64_t out_features, const ActivationDesc& input) override;
  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanPooling(
      const PoolingShape& shape, const ActivationDesc& input) override;
  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanActivation(
      Activation function, const ActivationDesc& input) override;
  absl::StatusOr<std::unique_ptr<SumOp>> PlanSum(
      const ActivationDesc& input) override;
  absl::StatusOr<std::unique_ptr<DropoutOp>> PlanDropout(
      double probability, const ActivationDesc& input) override;
  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanAdaptivePooling(
      int64_t out_height, int64_t out_width,
      const ActivationDesc& input) override;
  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanGlobalPooling(
      const ActivationDesc& input) override;
  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanSubsampling(
      const SubsamplingShape& shape, const ActivationDesc& input) override;
  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanReorder(
      const ActivationDesc& input) override;
  absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropyOp>>
  PlanSoftmaxCrossEntropy(const ActivationDesc& logits) override;

  int64_t num_reorders() const override { return device_->num_reorders(); }

 private:
  LayerDevice* device() const { return device_.get(); }

  const std::shared_ptr<LayerDevice> device_;
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDA_NN_KERNELS_H_
