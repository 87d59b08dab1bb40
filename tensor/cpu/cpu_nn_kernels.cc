#include "tensor/cpu/cpu_nn_kernels.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/thread_pool.h"
#include "tensor/cpu/cpu_adaptive_pooling.h"
#include "tensor/cpu/cpu_batch_norm.h"
#include "tensor/cpu/cpu_convolution.h"
#include "tensor/cpu/cpu_dropout.h"
#include "tensor/cpu/cpu_global_pooling.h"
#include "tensor/cpu/cpu_linear.h"
#include "tensor/cpu/cpu_loss.h"
#include "tensor/cpu/cpu_pooling.h"
#include "tensor/cpu/cpu_subsampling.h"
#include "tensor/cpu/cpu_sum.h"
#include "tensor/cpu/cpu_unary.h"
#include "tensor/cpu/dnnl_step.h"

namespace ps {
namespace {

// Converts oneDNN's exceptions to statuses; no other code does.
template <typename Function>
auto CatchDnnl(absl::string_view what, const Function& function)
    -> decltype(function()) {
  try {
    return function();
  } catch (const dnnl::error& error) {
    return DnnlStatus(error.status,
                      absl::StrCat(what, " (", error.what(), ")"));
  }
}

class CpuNnKernels final : public NnKernels {
 public:
  explicit CpuNnKernels(int num_threads)
      : context_(num_threads), pool_(num_threads) {}

  void UseThreads(int num_threads) override {
    context_.num_threads = num_threads;
    pool_.Resize(num_threads);
  }

  absl::StatusOr<std::unique_ptr<AffineOp>> PlanConvolution(
      const ConvolutionShape& shape, const ActivationDesc& input) override {
    return Plan("planning a convolution", input,
                [&] { return PlanCpuConvolution(context_, shape, input); });
  }

  absl::StatusOr<std::unique_ptr<AffineOp>> PlanLinear(
      int64_t out_features, const ActivationDesc& input) override {
    return Plan("planning a linear layer", input,
                [&] { return PlanCpuLinear(context_, out_features, input); });
  }

  absl::StatusOr<std::unique_ptr<BatchNormOp>> PlanBatchNorm(
      const BatchNormShape& shape, const ActivationDesc& input,
      const ActivationDesc* residual) override {
    return PlanCpuBatchNorm(&pool_, shape, input, residual);
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanPooling(
      const PoolingShape& shape, const ActivationDesc& input) override {
    return PlanCpuPooling(&pool_, shape, input);
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanAdaptivePooling(
      int64_t out_height, int64_t out_width,
      const ActivationDesc& input) override {
    return PlanCpuAdaptivePooling(&pool_, out_height, out_width, input);
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanGlobalPooling(
      const ActivationDesc& input) override {
    return PlanCpuGlobalPooling(&pool_, input);
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanSubsampling(
      const SubsamplingShape& shape, const ActivationDesc& input) override {
    return PlanCpuSubsampling(&pool_, shape, input);
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanActivation(
      Activation function, const ActivationDesc& input) override {
    return Plan("planning an activation function", input, [&] {
      return PlanCpuActivation(context_, &pool_, function, input);
    });
  }

  absl::StatusOr<std::unique_ptr<SumOp>> PlanSum(
      const ActivationDesc& input) override {
    return NewCpuSum(&pool_, input);
  }

  absl::StatusOr<std::unique_ptr<DropoutOp>> PlanDropout(
      double probability, const ActivationDesc& input) override {
    return PlanCpuDropout(&pool_, probability, input);
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanReorder(
      const ActivationDesc& input) override {
    return Plan("planning a reorder", input,
                [&] { return PlanCpuReorder(context_, input); });
  }

  absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropyOp>>
  PlanSoftmaxCrossEntropy(const ActivationDesc& logits) override {
    return PlanCpuSoftmaxCrossEntropy(&pool_, logits);
  }

  int64_t num_reorders() const override { return *context_.num_reorders; }

 private:
  template <typename Function>
  auto Plan(absl::string_view what, const ActivationDesc& input,
            const Function& function) -> decltype(function()) {
    const OmpThreads threads(context_.num_threads);
    return CatchDnnl(absl::StrCat(what, " for ", ShapeString(input.shape)),
                     function);
  }

  DnnlContext context_;  // Has the OpenMP threads for oneDNN.
  ThreadPool pool_;      // For our own loops.
};

}  // namespace

absl::StatusOr<std::unique_ptr<NnKernels>> NewCpuNnKernels(int num_threads) {
  return CatchDnnl("starting oneDNN",
                   [&]() -> absl::StatusOr<std::unique_ptr<NnKernels>> {
                     return std::make_unique<CpuNnKernels>(num_threads);
                   });
}

}  // namespace ps
