#include "tensor/cpu/cpu_global_pooling.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cpu/cpu_layout.h"

namespace ps {
namespace {

// The number of matrices that a thread takes at a time.
constexpr int64_t kMatricesPerChunk = 16;

class CpuGlobalPooling final : public UnaryOp {
 public:
  CpuGlobalPooling(ThreadPool* pool, const ActivationDesc& input)
      : pool_(pool),
        matrices_(input),
        share_(1 / static_cast<float>(matrices_.rows)),
        output_(ActivationDesc::Plain({input.shape[0], input.shape[1]})) {}

  const ActivationDesc& output() const override { return output_; }

  // The means of matrix m lie where the output has its columns, since both are
  // ordered by image and then by channel.
  absl::Status Forward(const float* x, float* y) override {
    ForEachMatrix([&](int64_t m) {
      float* const means = y + m * matrices_.width;
      std::fill_n(means, matrices_.width, 0.0f);
      const float* row = x + m * matrices_.size();
      for (int64_t r = 0; r < matrices_.rows; ++r, row += matrices_.width) {
        for (int64_t c = 0; c < matrices_.width; ++c) means[c] += row[c];
      }
      for (int64_t c = 0; c < matrices_.width; ++c) means[c] *= share_;
    });
    return absl::OkStatus();
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    ForEachMatrix([&](int64_t m) {
      const float* const gradients = dy + m * matrices_.width;
      float* row = dx + m * matrices_.size();
      for (int64_t r = 0; r < matrices_.rows; ++r, row += matrices_.width) {
        for (int64_t c = 0; c < matrices_.width; ++c) {
          row[c] = gradients[c] * share_;
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  // Calls body(m) for every matrix.
  template <typename Body>
  void ForEachMatrix(const Body& body) {
    pool_->ParallelFor(matrices_.count, kMatricesPerChunk,
                       [&](const ChunkRange& range) {
                         for (int64_t m = range.begin; m < range.end; ++m) {
                           body(m);
                         }
                       });
  }

  ThreadPool* const pool_;  // Not owned.
  const ChannelMatrices matrices_;
  const float share_;
  const ActivationDesc output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuGlobalPooling(
    ThreadPool* pool, const ActivationDesc& input) {
  PS_RETURN_IF_ERROR(CheckImages(
      absl::StrCat("global pooling of ", ShapeString(input.shape)), input));
  return std::make_unique<CpuGlobalPooling>(pool, input);
}

}  // namespace ps
