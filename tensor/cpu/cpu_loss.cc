#include "tensor/cpu/cpu_loss.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// How many logits are larger than the label's, or equal and before it. All,
// where it is a NaN.
int64_t Rank(const float* logits, int64_t classes, int32_t label) {
  int64_t rank = 0;
  for (int64_t c = 0; c < label; ++c) {
    if (!(logits[c] < logits[label])) ++rank;
  }
  for (int64_t c = label; c < classes; ++c) {
    if (!(logits[c] <= logits[label])) ++rank;
  }
  return rank;
}

class CpuSoftmaxCrossEntropy final : public SoftmaxCrossEntropyOp {
 public:
  CpuSoftmaxCrossEntropy(int64_t batch, int64_t classes)
      : batch_(batch), classes_(classes) {}

  absl::StatusOr<Result> Run(const float* logits, const int32_t* labels,
                             float* dlogits) override {
    for (int64_t i = 0; i < batch_; ++i) {
      if (labels[i] < 0 || labels[i] >= classes_) {
        return absl::InvalidArgumentError(
            absl::StrCat("label ", labels[i], " of example ", i,
                         " of the batch; there are ", classes_, " classes"));
      }
    }
    Result result;
    for (int64_t i = 0; i < batch_; ++i) {
      const float* const row = logits + i * classes_;
      // Subtracting the maximum keeps exp from overflowing.
      const double max = *std::max_element(row, row + classes_);
      double sum = 0;
      for (int64_t c = 0; c < classes_; ++c) sum += std::exp(row[c] - max);
      const double log_sum = max + std::log(sum);
      result.loss += log_sum - row[labels[i]];
      const int64_t rank = Rank(row, classes_, labels[i]);
      if (rank < 1) ++result.correct;
      if (rank < 5) ++result.correct_top5;
      if (dlogits == nullptr) continue;
      float* const gradient = dlogits + i * classes_;
      for (int64_t c = 0; c < classes_; ++c) {
        const double target = c == labels[i] ? 1 : 0;
        gradient[c] = static_cast<float>((std::exp(row[c] - log_sum) - target) /
                                         static_cast<double>(batch_));
      }
    }
    result.loss /= static_cast<double>(batch_);
    return result;
  }

 private:
  const int64_t batch_;
  const int64_t classes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropyOp>>
PlanCpuSoftmaxCrossEntropy(const ActivationDesc& logits) {
  if (logits.shape.size() != 2 || logits.shape[0] < 1 || logits.shape[1] < 1 ||
      logits.layout != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("softmax cross entropy of ", ShapeString(logits.shape),
                     ": needs plain logits [batch, classes]"));
  }
  return std::make_unique<CpuSoftmaxCrossEntropy>(logits.shape[0],
                                                  logits.shape[1]);
}

}  // namespace ps
