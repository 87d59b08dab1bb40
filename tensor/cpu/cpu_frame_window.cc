#include "tensor/cpu/cpu_frame_window.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cpu/cpu_layout.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// The number of frames that a thread takes at a time.
constexpr int64_t kFramesPerChunk = 8;

class CpuFrameWindow final : public UnaryOp {
 public:
  CpuFrameWindow(ThreadPool* pool, const FrameWindowShape& shape,
                 const Shape& input, ActivationDesc output)
      : pool_(pool),
        shape_(shape),
        steps_(input[0]),
        batch_(input[1]),
        features_(input[2]),
        output_(std::move(output)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    pool_->ParallelFor(output_.shape[0], kFramesPerChunk,
                       [&](const ChunkRange& frames) {
                         for (int64_t t = frames.begin; t < frames.end; ++t) {
                           for (int64_t j = 0; j < shape_.window; ++j)
                             CopyFrame(x, t, j, y);
                         }
                       });
    return absl::OkStatus();
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    pool_->ParallelFor(steps_, kFramesPerChunk, [&](const ChunkRange& frames) {
      for (int64_t t = frames.begin; t < frames.end; ++t) {
        SumWindows(dy, t, dx + t * batch_ * features_);
      }
    });
    return absl::OkStatus();
  }

 private:
  // Copies frame j of window t, for all examples.
  void CopyFrame(const float* x, int64_t t, int64_t j, float* y) const {
    const int64_t source = t * shape_.stride - shape_.before + j;
    for (int64_t b = 0; b < batch_; ++b) {
      float* const to = y + ((t * batch_ + b) * shape_.window + j) * features_;
      if (source < 0 || source >= steps_) {
        std::fill_n(to, features_, 0.0f);
      } else {
        std::copy_n(x + (source * batch_ + b) * features_, features_, to);
      }
    }
  }

  // Sums the gradients that frame `source` of the input gets from all windows
  // that contain it.
  void SumWindows(const float* dy, int64_t source, float* dx) const {
    std::fill_n(dx, batch_ * features_, 0.0f);
    for (int64_t j = 0; j < shape_.window; ++j) {
      const int64_t start = source + shape_.before - j;  // Equals t x stride.
      const int64_t t = start / shape_.stride;
      if (start < 0 || t * shape_.stride != start || t >= output_.shape[0]) {
        continue;
      }
      for (int64_t b = 0; b < batch_; ++b) {
        const float* const from =
            dy + ((t * batch_ + b) * shape_.window + j) * features_;
        for (int64_t f = 0; f < features_; ++f)
          dx[b * features_ + f] += from[f];
      }
    }
  }

  ThreadPool* const pool_;  // Not owned.
  const FrameWindowShape shape_;
  const int64_t steps_;
  const int64_t batch_;
  const int64_t features_;
  const ActivationDesc output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuFrameWindow(
    ThreadPool* pool, const FrameWindowShape& shape,
    const ActivationDesc& input) {
  const std::string what = absl::StrCat(
      "windows of ", shape.window, " frames, ", shape.before,
      " before, stride ", shape.stride, ", over ", ShapeString(input.shape));
  PS_RETURN_IF_ERROR(CheckActivation(what, input));
  if (input.shape.size() != 3 || input.layout != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": needs a plain input [steps, batch, features]"));
  }
  if (shape.window < 1 || shape.stride < 1 || shape.before < 0 ||
      shape.before >= shape.window) {
    return absl::InvalidArgumentError(
        absl::StrCat(what,
                     ": needs a window and a stride of at least 1, and fewer "
                     "frames before than the window has"));
  }
  return std::make_unique<CpuFrameWindow>(
      pool, shape, input.shape,
      ActivationDesc::Plain({shape.OutputFrames(input.shape[0]), input.shape[1],
                             shape.window * input.shape[2]}));
}

}  // namespace ps
