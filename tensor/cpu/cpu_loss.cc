#include "tensor/cpu/cpu_loss.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensor/cpu/cpu_softmax_loops.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// The approximate number of logits that a thread takes at a time.
constexpr int64_t kLogitsPerChunk = 1 << 16;

class CpuSoftmaxCrossEntropy final : public SoftmaxCrossEntropyOp {
 public:
  CpuSoftmaxCrossEntropy(ThreadPool* pool, int64_t batch, int64_t classes)
      : pool_(pool), batch_(batch), classes_(classes), rows_(batch) {}

  absl::StatusOr<Result> Run(const float* logits, const int32_t* labels,
                             float* dlogits) override {
    for (int64_t i = 0; i < batch_; ++i) {
      if (labels[i] < 0 || labels[i] >= classes_) {
        return absl::InvalidArgumentError(
            absl::StrCat("label ", labels[i], " of example ", i,
                         " of the batch; there are ", classes_, " classes"));
      }
    }
    const int64_t rows_per_chunk =
        std::max<int64_t>(1, kLogitsPerChunk / classes_);
    pool_->ParallelFor(batch_, rows_per_chunk, [&](const ChunkRange& chunk) {
      for (int64_t i = chunk.begin; i < chunk.end; ++i) {
        SoftmaxRow row;
        row.classes = classes_;
        row.logits = logits + i * classes_;
        row.label = labels[i];
        if (dlogits != nullptr) row.gradient = dlogits + i * classes_;
        row.gradient_scale = 1 / static_cast<float>(batch_);
        rows_[i] = Softmax(row);
      }
    });
    Result result;
    for (const SoftmaxResult& row : rows_) {
      result.loss += row.loss / static_cast<double>(batch_);
      if (row.rank < 1) ++result.correct;
      if (row.rank < 5) ++result.correct_top5;
    }
    return result;
  }

 private:
  ThreadPool* const pool_;  // Not owned.
  const int64_t batch_;
  const int64_t classes_;
  std::vector<SoftmaxResult> rows_;  // [batch]
};

}  // namespace

absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropyOp>>
PlanCpuSoftmaxCrossEntropy(ThreadPool* pool, const ActivationDesc& logits) {
  if (logits.shape.size() != 2 || logits.shape[0] < 1 || logits.shape[1] < 1 ||
      logits.layout != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("softmax cross entropy of ", ShapeString(logits.shape),
                     ": needs plain logits [batch, classes]"));
  }
  return std::make_unique<CpuSoftmaxCrossEntropy>(pool, logits.shape[0],
                                                  logits.shape[1]);
}

}  // namespace ps
