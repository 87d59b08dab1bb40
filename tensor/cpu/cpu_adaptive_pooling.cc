#include "tensor/cpu/cpu_adaptive_pooling.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cpu/cpu_layout.h"

namespace ps {
namespace {

// The number of matrices that a thread takes at a time.
constexpr int64_t kMatricesPerChunk = 8;

// The range of `in` that part i of `out` averages, in one direction.
struct Part {
  Part(int64_t i, int64_t in, int64_t out)
      : begin(i * in / out), end(((i + 1) * in + out - 1) / out) {}
  int64_t begin, end;
};

class CpuAdaptivePooling final : public UnaryOp {
 public:
  CpuAdaptivePooling(ThreadPool* pool, const ActivationDesc& input,
                     ActivationDesc output)
      : pool_(pool),
        input_(input),
        output_(std::move(output)),
        matrices_(input_),
        out_size_(output_.shape[2] * output_.shape[3] * matrices_.width) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    std::fill_n(y, output_.num_floats, 0.0f);
    ForEachPixel([&](int64_t in, int64_t out, float share) {
      for (int64_t c = 0; c < matrices_.width; ++c) {
        y[out + c] += x[in + c] * share;
      }
    });
    return absl::OkStatus();
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    std::fill_n(dx, input_.num_floats, 0.0f);
    ForEachPixel([&](int64_t in, int64_t out, float share) {
      for (int64_t c = 0; c < matrices_.width; ++c) {
        dx[in + c] += dy[out + c] * share;
      }
    });
    return absl::OkStatus();
  }

 private:
  // Calls body(offset in the input, offset in the output, weight) for every
  // input pixel of every part.
  template <typename Body>
  void ForEachPixel(const Body& body) {
    const int64_t height = input_.shape[2], width = input_.shape[3];
    const int64_t out_height = output_.shape[2], out_width = output_.shape[3];
    const auto pool_matrix = [&](int64_t m) {
      int64_t out = m * out_size_;
      for (int64_t i = 0; i < out_height; ++i) {
        const Part rows(i, height, out_height);
        for (int64_t j = 0; j < out_width; ++j, out += matrices_.width) {
          const Part columns(j, width, out_width);
          const float share =
              1 / static_cast<float>((rows.end - rows.begin) *
                                     (columns.end - columns.begin));
          for (int64_t h = rows.begin; h < rows.end; ++h) {
            for (int64_t w = columns.begin; w < columns.end; ++w) {
              body(m * matrices_.size() + (h * width + w) * matrices_.width,
                   out, share);
            }
          }
        }
      }
    };
    pool_->ParallelFor(matrices_.count, kMatricesPerChunk,
                       [&](const ChunkRange& range) {
                         for (int64_t m = range.begin; m < range.end; ++m) {
                           pool_matrix(m);
                         }
                       });
  }

  ThreadPool* const pool_;  // Not owned.
  const ActivationDesc input_;
  const ActivationDesc output_;
  const ChannelMatrices matrices_;
  const int64_t out_size_;  // The number of elements of an output matrix.
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuAdaptivePooling(
    ThreadPool* pool, int64_t out_height, int64_t out_width,
    const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("adaptive pooling of ", ShapeString(input.shape), " to ",
                   out_height, " x ", out_width);
  PS_RETURN_IF_ERROR(CheckImages(what, input));
  if (out_height < 1 || out_width < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": both sizes must be at least 1"));
  }
  const ActivationDesc output =
      ImageActivation({input.shape[0], input.shape[1], out_height, out_width},
                      MatrixOrder(input));
  return std::make_unique<CpuAdaptivePooling>(pool, input, output);
}

}  // namespace ps
