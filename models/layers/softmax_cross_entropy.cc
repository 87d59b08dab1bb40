#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/layers/loss.h"

namespace ps {
namespace {

class PlannedSoftmaxCrossEntropy final : public PlannedLoss {
 public:
  PlannedSoftmaxCrossEntropy(std::unique_ptr<SoftmaxCrossEntropyOp> op,
                             int64_t targets)
      : op_(std::move(op)), targets_(targets) {}

  absl::StatusOr<BatchResult> Run(const Batch& batch, const float* logits,
                                  float* dlogits) override {
    if (static_cast<int64_t>(batch.labels.size()) != targets_) {
      return absl::InvalidArgumentError(
          absl::StrCat("a batch with ", batch.labels.size(), " labels for ",
                       targets_, " outputs"));
    }
    PS_ASSIGN_OR_RETURN(const SoftmaxCrossEntropyOp::Result loss,
                        op_->Run(logits, batch.labels.data(), dlogits));
    BatchResult result;
    result.examples = batch.size();
    result.targets = targets_;
    result.loss = loss.loss;
    result.correct = loss.correct;
    result.correct_top5 = loss.correct_top5;
    return result;
  }

 private:
  const std::unique_ptr<SoftmaxCrossEntropyOp> op_;
  const int64_t targets_;
};

class SoftmaxCrossEntropy final : public Loss {
 public:
  absl::StatusOr<std::unique_ptr<PlannedLoss>> Plan(
      const PlanContext& context, const ActivationDesc& logits) const override {
    const int64_t classes = logits.shape.empty() ? 1 : logits.shape.back();
    const int64_t targets =
        classes < 1 ? 0 : NumElements(logits.shape) / classes;
    ActivationDesc rows = logits;
    rows.shape = {targets, classes};
    PS_ASSIGN_OR_RETURN(std::unique_ptr<SoftmaxCrossEntropyOp> op,
                        context.backend->nn().PlanSoftmaxCrossEntropy(rows));
    return std::make_unique<PlannedSoftmaxCrossEntropy>(std::move(op), targets);
  }
};

}  // namespace

std::unique_ptr<Loss> NewSoftmaxCrossEntropy() {
  return std::make_unique<SoftmaxCrossEntropy>();
}

}  // namespace ps
