// Layers over sequences on CUDA. Everything runs in the order of one stream;
// embeddings and the CTC loss wait for it. The methods are defined in the files
// of their operations.
#ifndef TENSOR_CUDA_SEQUENCES_CUDA_SEQUENCE_KERNELS_H_
#define TENSOR_CUDA_SEQUENCES_CUDA_SEQUENCE_KERNELS_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/sequence_kernels.h"

namespace ps {

class CudaSequenceKernels final : public SequenceKernels {
 public:
  // host_threads: threads for the work on the host, which is the CTC loss; at
  // least 1.
  CudaSequenceKernels(std::shared_ptr<LayerDevice> device, int host_threads)
      : device_(std::move(device)), pool_(host_threads) {}

  absl::StatusOr<std::unique_ptr<EmbeddingOp>> PlanEmbedding(
      const EmbeddingShape& shape, const ActivationDesc& tokens) override;
  // Computed by cuDNN if the device must use it, else by products, and one
  // kernel for the cells of a step. cell_time() is zero, since the host could
  // only measure the time of the cells by waiting for each step.
  absl::StatusOr<std::unique_ptr<RecurrentOp>> PlanRecurrent(
      const RecurrentShape& shape, const ActivationDesc& input) override;
  absl::StatusOr<std::unique_ptr<AffineOp>> PlanSequenceLinear(
      int64_t out_features, const ActivationDesc& input) override;
  absl::StatusOr<std::unique_ptr<CtcLossOp>> PlanCtcLoss(
      const ActivationDesc& logits) override;
  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanFrameWindow(
      const FrameWindowShape& shape, const ActivationDesc& input) override;
  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanStepReduction(
      StepReduction reduction, const ActivationDesc& input) override;

 private:
  LayerDevice* device() const { return device_.get(); }

  const std::shared_ptr<LayerDevice> device_;
  ThreadPool pool_;
};

}  // namespace ps

#endif  // TENSOR_CUDA_SEQUENCES_CUDA_SEQUENCE_KERNELS_H_
