#include "tensor/cpu/cpu_sequence_kernels.h"

#include "common/thread_pool.h"
#include "tensor/cpu/cpu_ctc_loss.h"
#include "tensor/cpu/cpu_embedding.h"
#include "tensor/cpu/cpu_frame_window.h"
#include "tensor/cpu/cpu_recurrent.h"
#include "tensor/cpu/cpu_sequence_linear.h"
#include "tensor/cpu/cpu_step_reduction.h"
#include "tensor/cpu/shared_scratch.h"

namespace ps {
namespace {

class CpuSequenceKernels final : public SequenceKernels {
 public:
  explicit CpuSequenceKernels(int num_threads) : pool_(num_threads) {}

  void UseThreads(int num_threads) override { pool_.Resize(num_threads); }

  absl::StatusOr<std::unique_ptr<EmbeddingOp>> PlanEmbedding(
      const EmbeddingShape& shape, const ActivationDesc& tokens) override {
    return PlanCpuEmbedding(&pool_, shape, tokens);
  }

  absl::StatusOr<std::unique_ptr<RecurrentOp>> PlanRecurrent(
      const RecurrentShape& shape, const ActivationDesc& input) override {
    return PlanCpuRecurrent(&pool_, &scratch_, shape, input);
  }

  absl::StatusOr<std::unique_ptr<AffineOp>> PlanSequenceLinear(
      int64_t out_features, const ActivationDesc& input) override {
    return PlanCpuSequenceLinear(&pool_, out_features, input);
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanFrameWindow(
      const FrameWindowShape& shape, const ActivationDesc& input) override {
    return PlanCpuFrameWindow(&pool_, shape, input);
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanStepReduction(
      StepReduction reduction, const ActivationDesc& input) override {
    return PlanCpuStepReduction(&pool_, reduction, input);
  }

  absl::StatusOr<std::unique_ptr<CtcLossOp>> PlanCtcLoss(
      const ActivationDesc& logits) override {
    return PlanCpuCtcLoss(&pool_, logits);
  }

 private:
  ThreadPool pool_;
  SharedScratch scratch_;
};

}  // namespace

std::unique_ptr<SequenceKernels> NewCpuSequenceKernels(int num_threads) {
  return std::make_unique<CpuSequenceKernels>(num_threads);
}

}  // namespace ps
