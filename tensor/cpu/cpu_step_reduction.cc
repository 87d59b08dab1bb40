#include "tensor/cpu/cpu_step_reduction.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cpu/cpu_layout.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// The number of elements of a step that a thread takes at a time.
constexpr int64_t kElementsPerChunk = 4096;

class CpuStepReduction final : public UnaryOp {
 public:
  CpuStepReduction(ThreadPool* pool, StepReduction reduction,
                   const Shape& input)
      : pool_(pool),
        mean_(reduction == StepReduction::kMean),
        steps_(input[0]),
        step_(input[1] * input[2]),
        output_(ActivationDesc::Plain({input[1], input[2]})) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    const int64_t last = (steps_ - 1) * step_;
    pool_->ParallelFor(step_, kElementsPerChunk, [&](const ChunkRange& part) {
      if (!mean_) {
        std::copy(x + last + part.begin, x + last + part.end, y + part.begin);
        return;
      }
      std::copy(x + part.begin, x + part.end, y + part.begin);
      for (int64_t t = 1; t < steps_; ++t) {
        for (int64_t i = part.begin; i < part.end; ++i) {
          y[i] += x[t * step_ + i];
        }
      }
      for (int64_t i = part.begin; i < part.end; ++i) y[i] *= share();
    });
    return absl::OkStatus();
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    pool_->ParallelFor(step_, kElementsPerChunk, [&](const ChunkRange& part) {
      for (int64_t t = 0; t < steps_; ++t) {
        const float factor = mean_ ? share() : t == steps_ - 1 ? 1.0f : 0.0f;
        for (int64_t i = part.begin; i < part.end; ++i) {
          dx[t * step_ + i] = factor == 0 ? 0 : factor * dy[i];
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  float share() const { return 1.0f / static_cast<float>(steps_); }

  ThreadPool* const pool_;  // Not owned.
  const bool mean_;
  const int64_t steps_;
  const int64_t step_;  // The number of elements of one step.
  const ActivationDesc output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuStepReduction(
    ThreadPool* pool, StepReduction reduction, const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("one vector for the steps of ", ShapeString(input.shape));
  PS_RETURN_IF_ERROR(CheckActivation(what, input));
  if (input.shape.size() != 3 || input.layout != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": needs a plain input [steps, batch, features]"));
  }
  return std::make_unique<CpuStepReduction>(pool, reduction, input.shape);
}

}  // namespace ps
