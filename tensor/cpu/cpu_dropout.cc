#include "tensor/cpu/cpu_dropout.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "tensor/cpu/cpu_dropout_loops.h"
#include "tensor/cpu/cpu_layout.h"

namespace ps {
namespace {

// The number of elements that a thread takes at a time, with their own key.
constexpr int64_t kChunkElements = int64_t{1} << 16;

class CpuDropout final : public DropoutOp {
 public:
  CpuDropout(ThreadPool* pool, double probability, const ActivationDesc& input)
      : pool_(pool),
        drop_below_(static_cast<int32_t>(
            std::lround(probability * (1 << kDropoutDrawBits)))),
        scale_(static_cast<float>(1 / (1 - probability))),
        output_(input) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(uint64_t key, const float* x, float* y) override {
    key_ = key;
    Run(x, y);
    return absl::OkStatus();
  }

  absl::Status Backward(const float* dy, float* dx) override {
    Run(dy, dx);
    return absl::OkStatus();
  }

 private:
  void Run(const float* from, float* to) {
    pool_->ParallelFor(output_.num_floats, kChunkElements,
                       [&](const ChunkRange& range) {
                         DropoutChunk chunk;
                         chunk.key = RandomKey(key_, range.index);
                         chunk.drop_below = drop_below_;
                         chunk.scale = scale_;
                         DropOut(chunk, from + range.begin,
                                 range.end - range.begin, to + range.begin);
                       });
  }

  ThreadPool* const pool_;  // Not owned.
  const int32_t drop_below_;
  const float scale_;
  const ActivationDesc output_;
  uint64_t key_ = 0;  // The key of the latest Forward.
};

}  // namespace

absl::StatusOr<std::unique_ptr<DropoutOp>> PlanCpuDropout(
    ThreadPool* pool, double probability, const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("dropout of ", ShapeString(input.shape));
  PS_RETURN_IF_ERROR(CheckActivation(what, input));
  // This form of the condition rejects NaN too.
  if (!(probability >= 0 && probability < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": the probability is ", probability, "; must be in [0, 1)"));
  }
  return std::make_unique<CpuDropout>(pool, probability, input);
}

}  // namespace ps
