#include "tensor/cpu/cpu_embedding.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

constexpr int64_t kTokensPerChunk = 64;
// The number of columns in a chunk of the table. A chunk processes all tokens
// in order, so that a row that several tokens name has one order of summation
// for any number of threads.
constexpr int64_t kFeaturesPerChunk = 128;

class CpuEmbedding final : public EmbeddingOp {
 public:
  CpuEmbedding(ThreadPool* pool, const EmbeddingShape& shape,
               const ActivationDesc& input)
      : pool_(pool),
        shape_(shape),
        output_(ActivationDesc::Plain(
            {input.shape[0], input.shape[1], shape.features})),
        rows_(NumElements(input.shape)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* tokens, const float* table,
                       float* y) override {
    for (size_t i = 0; i < rows_.size(); ++i) {
      const float token = tokens[i];
      // This form of the condition rejects NaN too.
      if (!(token >= 0 && token < static_cast<float>(shape_.num_rows)) ||
          token != std::floor(token)) {
        return absl::InvalidArgumentError(
            absl::StrCat("token ", token, " at position ", i,
                         "; needs a whole number below ", shape_.num_rows));
      }
      rows_[i] = static_cast<int64_t>(token);
    }
    const int64_t n = shape_.features;
    pool_->ParallelFor(static_cast<int64_t>(rows_.size()), kTokensPerChunk,
                       [&](const ChunkRange& chunk) {
                         for (int64_t i = chunk.begin; i < chunk.end; ++i) {
                           std::copy_n(table + rows_[i] * n, n, y + i * n);
                         }
                       });
    return absl::OkStatus();
  }

  absl::Status AddGradient(const float* dy, float* dtable) override {
    const int64_t n = shape_.features;
    pool_->ParallelFor(n, kFeaturesPerChunk, [&](const ChunkRange& chunk) {
      for (size_t i = 0; i < rows_.size(); ++i) {
        const float* const from = dy + static_cast<int64_t>(i) * n;
        float* const to = dtable + rows_[i] * n;
        for (int64_t j = chunk.begin; j < chunk.end; ++j) to[j] += from[j];
      }
    });
    return absl::OkStatus();
  }

 private:
  ThreadPool* const pool_;  // Not owned.
  const EmbeddingShape shape_;
  const ActivationDesc output_;
  std::vector<int64_t> rows_;  // The rows that the latest tokens name.
};

}  // namespace

absl::StatusOr<std::unique_ptr<EmbeddingOp>> PlanCpuEmbedding(
    ThreadPool* pool, const EmbeddingShape& shape,
    const ActivationDesc& input) {
  // Tokens are floats, which represent integers exactly up to here.
  constexpr int64_t kMaxRows = int64_t{1} << 24;
  if (input.shape.size() != 2 || NumElements(input.shape) < 1 ||
      input.layout != nullptr || shape.num_rows < 1 ||
      shape.num_rows > kMaxRows || shape.features < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "embedding of ", ShapeString(input.shape), " in ", shape.num_rows,
        " rows of ", shape.features,
        " features: needs plain tokens [steps, batch], 1 to 2^24 rows, and at "
        "least one feature"));
  }
  return std::make_unique<CpuEmbedding>(pool, shape, input);
}

}  // namespace ps
