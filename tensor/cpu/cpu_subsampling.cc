#include "tensor/cpu/cpu_subsampling.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cpu/cpu_layout.h"

namespace ps {
namespace {

// The positions of an image's channels in memory.
class ChannelOffsets {
 public:
  explicit ChannelOffsets(const ActivationDesc& activation)
      : matrices_(activation) {}

  // Returns the offset of `channel` at pixel `row`, within an image.
  int64_t operator()(int64_t channel, int64_t row) const {
    return channel / width() * matrices_.size() + row * width() +
           channel % width();
  }
  int64_t image_size() const { return matrices_.per_image * matrices_.size(); }
  // The number of channels that are adjacent in memory.
  int64_t width() const { return matrices_.width; }

 private:
  const ChannelMatrices matrices_;
};

class CpuSubsampling final : public UnaryOp {
 public:
  CpuSubsampling(ThreadPool* pool, const SubsamplingShape& shape,
                 const ActivationDesc& input, ActivationDesc output)
      : pool_(pool),
        stride_(shape.stride),
        input_(input),
        output_(std::move(output)),
        in_(input_),
        out_(output_),
        first_channel_((shape.out_channels - input.shape[1]) / 2),
        run_(RunLength()) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    ForEachImage([&](int64_t n) {
      const float* const from = x + n * in_.image_size();
      float* const to = y + n * out_.image_size();
      std::fill_n(to, out_.image_size(), 0.0f);
      ForEachRun([&](int64_t in, int64_t out) {
        std::copy_n(from + in, run_, to + out);
      });
    });
    return absl::OkStatus();
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    ForEachImage([&](int64_t n) {
      const float* const from = dy + n * out_.image_size();
      float* const to = dx + n * in_.image_size();
      std::fill_n(to, in_.image_size(), 0.0f);
      ForEachRun([&](int64_t in, int64_t out) {
        std::copy_n(from + out, run_, to + in);
      });
    });
    return absl::OkStatus();
  }

 private:
  // Returns the number of channels that are adjacent in both input and output.
  int64_t RunLength() const {
    if (in_.width() == input_.shape[1] && out_.width() == output_.shape[1]) {
      return in_.width();
    }
    return in_.width() == out_.width() && first_channel_ % in_.width() == 0
               ? in_.width()
               : 1;
  }

  template <typename Body>
  void ForEachImage(const Body& body) {
    pool_->ParallelFor(input_.shape[0], /*chunk_size=*/4,
                       [&](const ChunkRange& images) {
                         for (int64_t n = images.begin; n < images.end; ++n) {
                           body(n);
                         }
                       });
  }

  // Calls body(offset in the input, offset in the output) for all runs of an
  // image.
  template <typename Body>
  void ForEachRun(const Body& body) const {
    for (int64_t c = 0; c < input_.shape[1]; c += run_) {
      int64_t out_row = 0;
      for (int64_t h = 0; h < output_.shape[2]; ++h) {
        for (int64_t w = 0; w < output_.shape[3]; ++w, ++out_row) {
          const int64_t in_row = stride_ * (h * input_.shape[3] + w);
          body(in_(c, in_row), out_(first_channel_ + c, out_row));
        }
      }
    }
  }

  ThreadPool* const pool_;  // Not owned.
  const int64_t stride_;
  const ActivationDesc input_;
  const ActivationDesc output_;
  const ChannelOffsets in_;
  const ChannelOffsets out_;
  const int64_t first_channel_;  // The first output channel that is not zero.
  const int64_t run_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuSubsampling(
    ThreadPool* pool, const SubsamplingShape& shape,
    const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("subsampling of ", ShapeString(input.shape), " by ",
                   shape.stride, " to ", shape.out_channels, " channels");
  PS_RETURN_IF_ERROR(CheckImages(what, input));
  const int64_t added = shape.out_channels - input.shape[1];
  if (shape.stride < 1 || added < 0 || added % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        what,
        ": needs a stride of at least 1, and an even number of new channels"));
  }
  // The output has the layout of the activation that it will be added to.
  ChannelOrder order = OrderOf(input);
  if (order != ChannelOrder::kPlain &&
      shape.out_channels % BlockChannels() != 0) {
    order = ChannelOrder::kLast;
  }
  const ActivationDesc output =
      ImageActivation({input.shape[0], shape.out_channels,
                       (input.shape[2] - 1) / shape.stride + 1,
                       (input.shape[3] - 1) / shape.stride + 1},
                      order);
  return std::make_unique<CpuSubsampling>(pool, shape, input, output);
}

}  // namespace ps
