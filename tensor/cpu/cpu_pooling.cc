#include "tensor/cpu/cpu_pooling.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cpu/cpu_layout.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// Images that one thread takes at a time.
constexpr int64_t kImagesPerChunk = 4;

// Where the elements of an activation lie.
struct Strides {
  explicit Strides(const ActivationDesc& a) {
    const int64_t channels = a.shape[1];
    const int64_t pixels = a.shape[2] * a.shape[3];
    const bool plain = a.layout == nullptr;
    image = channels * pixels;
    channel = plain ? pixels : 1;
    column = plain ? 1 : channels;
    row = column * a.shape[3];
  }

  int64_t image;
  int64_t channel;
  int64_t row;
  int64_t column;
};

// What belongs to one window, of channel 0.
struct Window {
  int64_t input;    // Its first element in the input.
  int64_t output;   // Its element in the output.
  int64_t maximum;  // Its element among the maxima.
};

class CpuPooling : public UnaryOp {
 public:
  CpuPooling(ThreadPool* pool, const PoolingShape& shape,
             const ActivationDesc& input, ActivationDesc output)
      : pool_(pool),
        shape_(shape),
        input_(input),
        output_(std::move(output)),
        x_(input_),
        y_(output_) {
    for (int64_t i = 0; i < shape_.window; ++i) {
      for (int64_t j = 0; j < shape_.window; ++j) {
        offsets_.push_back(i * x_.row + j * x_.column);
      }
    }
  }

  const ActivationDesc& output() const override { return output_; }

 protected:
  // Calls body(window) for every window. Those of one image run in order, on
  // one thread, so that sums over overlapping windows are always the same.
  template <typename Body>
  void ForEachWindow(const Body& body) {
    pool_->ParallelFor(
        output_.shape[0], kImagesPerChunk, [&](const ChunkRange& images) {
          for (int64_t n = images.begin; n < images.end; ++n) {
            int64_t number = n * output_.shape[2] * output_.shape[3];
            for (int64_t h = 0; h < output_.shape[2]; ++h) {
              for (int64_t w = 0; w < output_.shape[3]; ++w, ++number) {
                Window window;
                window.input =
                    n * x_.image + shape_.stride * (h * x_.row + w * x_.column);
                window.output = n * y_.image + h * y_.row + w * y_.column;
                window.maximum = number * channels();
                body(window);
              }
            }
          }
        });
  }

  int64_t channels() const { return output_.shape[1]; }

  ThreadPool* const pool_;  // Not owned.
  const PoolingShape shape_;
  const ActivationDesc input_;
  const ActivationDesc output_;
  const Strides x_;
  const Strides y_;
  std::vector<int64_t> offsets_;  // Of a window's elements from its first.
};

class CpuMaxPooling final : public CpuPooling {
 public:
  CpuMaxPooling(ThreadPool* pool, const PoolingShape& shape,
                const ActivationDesc& input, const ActivationDesc& output)
      : CpuPooling(pool, shape, input, output), maxima_(output.num_floats) {}

  absl::Status Forward(const float* x, float* y) override {
    ForEachWindow([&](const Window& window) {
      for (int64_t c = 0; c < channels(); ++c) {
        const float* const first = x + window.input + c * x_.channel;
        float max = *first;
        int64_t maximum = 0;
        for (const int64_t offset : offsets_) {
          const float value = first[offset];
          // A NaN wins and stays: it must not be hidden here. No branches,
          // since nothing could predict them.
          const bool wins = (value > max) | (value != value);
          max = wins ? value : max;
          maximum = wins ? offset : maximum;
        }
        y[window.output + c * y_.channel] = max;
        maxima_[window.maximum + c] = maximum;
      }
    });
    return absl::OkStatus();
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    std::fill_n(dx, input_.num_floats, 0.0f);
    ForEachWindow([&](const Window& window) {
      for (int64_t c = 0; c < channels(); ++c) {
        dx[window.input + c * x_.channel + maxima_[window.maximum + c]] +=
            dy[window.output + c * y_.channel];
      }
    });
    return absl::OkStatus();
  }

 private:
  // Offset of the maximum from the window's first element, channels last.
  std::vector<int64_t> maxima_;
};

class CpuAveragePooling final : public CpuPooling {
 public:
  using CpuPooling::CpuPooling;

  absl::Status Forward(const float* x, float* y) override {
    ForEachWindow([&](const Window& window) {
      for (int64_t c = 0; c < channels(); ++c) {
        const float* const first = x + window.input + c * x_.channel;
        double sum = 0;
        for (const int64_t offset : offsets_) sum += first[offset];
        y[window.output + c * y_.channel] =
            static_cast<float>(sum / static_cast<double>(offsets_.size()));
      }
    });
    return absl::OkStatus();
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    std::fill_n(dx, input_.num_floats, 0.0f);
    ForEachWindow([&](const Window& window) {
      for (int64_t c = 0; c < channels(); ++c) {
        float* const first = dx + window.input + c * x_.channel;
        const float share = dy[window.output + c * y_.channel] /
                            static_cast<float>(offsets_.size());
        for (const int64_t offset : offsets_) first[offset] += share;
      }
    });
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuPooling(
    ThreadPool* pool, const PoolingShape& shape, const ActivationDesc& input) {
  const bool is_max = shape.kind == PoolingShape::Kind::kMax;
  const std::string what = absl::StrCat(
      is_max ? "max" : "average", " pooling of ", ShapeString(input.shape),
      " with windows of ", shape.window, ", stride ", shape.stride);
  PS_RETURN_IF_ERROR(CheckActivation(what, input));
  if (input.shape.size() != 4 || shape.window < 1 || shape.stride < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        what,
        ": needs an input [batch, channels, height, width], and window and "
        "stride of at least 1"));
  }
  if (input.shape[2] < shape.window || input.shape[3] < shape.window) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": the window is larger than the input"));
  }
  const Shape pooled = {input.shape[0], input.shape[1],
                        (input.shape[2] - shape.window) / shape.stride + 1,
                        (input.shape[3] - shape.window) / shape.stride + 1};
  const ActivationDesc output = input.layout == nullptr
                                    ? ActivationDesc::Plain(pooled)
                                    : ChannelsLastActivation(pooled);
  if (is_max) {
    return std::make_unique<CpuMaxPooling>(pool, shape, input, output);
  }
  return std::make_unique<CpuAveragePooling>(pool, shape, input, output);
}

}  // namespace ps
