#include "tensor/cuda/sequences/cuda_sequence_kernels.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/thread_pool.h"
#include "tensor/cuda/layer_device/cuda_layer_device.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/cuda_linear.h"
#include "tensor/cuda/sequences/cuda_ctc_loss.h"
#include "tensor/cuda/sequences/cuda_embedding.h"
#include "tensor/cuda/sequences/cuda_frame_window.h"
#include "tensor/cuda/sequences/cuda_recurrent.h"
#include "tensor/cuda/sequences/cuda_step_reduction.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

class CudaSequenceKernels final : public SequenceKernels {
 public:
  CudaSequenceKernels(std::shared_ptr<LayerDevice> device, int host_threads)
      : device_(std::move(device)), pool_(host_threads) {}

  absl::StatusOr<std::unique_ptr<EmbeddingOp>> PlanEmbedding(
      const EmbeddingShape& shape, const ActivationDesc& tokens) override {
    return PlanCudaEmbedding(device_.get(), shape, tokens);
  }

  absl::StatusOr<std::unique_ptr<RecurrentOp>> PlanRecurrent(
      const RecurrentShape& shape, const ActivationDesc& input) override {
    return PlanCudaRecurrent(device_.get(), shape, input);
  }

  absl::StatusOr<std::unique_ptr<AffineOp>> PlanSequenceLinear(
      int64_t out_features, const ActivationDesc& input) override {
    const std::string what =
        absl::StrCat("linear layer from ", ShapeString(input.shape), " to ",
                     out_features, " features");
    PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaSequence(what, input));
    if (out_features < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": needs at least one feature"));
    }
    const int64_t steps = input.shape[0], batch = input.shape[1];
    LinearRows rows;
    rows.rows = steps * batch;
    rows.in = input.shape[2];
    rows.input = storage;
    rows.output = {steps, batch, out_features};
    return PlanCudaLinearRows(device_.get(), rows);
  }

  absl::StatusOr<std::unique_ptr<CtcLossOp>> PlanCtcLoss(
      const ActivationDesc& logits) override {
    return PlanCudaCtcLoss(device_.get(), &pool_, logits);
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanFrameWindow(
      const FrameWindowShape& shape, const ActivationDesc& input) override {
    return PlanCudaFrameWindow(device_.get(), shape, input);
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanStepReduction(
      StepReduction reduction, const ActivationDesc& input) override {
    return PlanCudaStepReduction(device_.get(), reduction, input);
  }

 private:
  const std::shared_ptr<LayerDevice> device_;
  ThreadPool pool_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SequenceKernels>> NewCudaSequenceKernels(
    const CudaNnOptions& options, int host_threads) {
  if (host_threads < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("host_threads is ", host_threads, "; must be at least 1"));
  }
  PS_ASSIGN_OR_RETURN(std::unique_ptr<LayerDevice> device,
                      NewCudaLayerDevice(options));
  return NewSequenceKernelsOn(std::move(device), host_threads);
}

std::unique_ptr<SequenceKernels> NewSequenceKernelsOn(
    std::shared_ptr<LayerDevice> device, int host_threads) {
  return std::make_unique<CudaSequenceKernels>(std::move(device), host_threads);
}

}  // namespace ps
