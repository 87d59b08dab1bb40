#include "tensor/cpu/cpu_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cpu/cpu_batch_norm_loops.h"
#include "tensor/cpu/cpu_layout.h"

namespace ps {
namespace {

// The number of matrices that a thread takes at a time.
constexpr int64_t kMatricesPerChunk = 8;

class CpuBatchNorm final : public BatchNormOp {
 public:
  CpuBatchNorm(ThreadPool* pool, const BatchNormShape& shape,
               const ActivationDesc& input, bool has_residual)
      : pool_(pool),
        shape_(shape),
        has_residual_(has_residual),
        output_(input),
        matrices_(input),
        size_{matrices_.rows, matrices_.width},
        channels_(input.shape[1]),
        count_(static_cast<double>(NumElements(input.shape) / channels_)),
        mean_(channels_),
        inverse_deviation_(channels_),
        scale_(channels_),
        offset_(channels_) {
    if (!shape.training) return;
    shift_.resize(channels_);
    of_input_.resize(channels_);
    constant_.resize(channels_);
    sums_.resize(matrices_.count * matrices_.width);
    products_.resize(sums_.size());
  }

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const ForwardArguments& a) override {
    if (shape_.measures_batch()) {
      MeasureBatch(a);
    } else {
      for (int64_t c = 0; c < channels_; ++c) {
        mean_[c] = a.running_mean[c];
        inverse_deviation_[c] =
            1 / std::sqrt(a.running_variance[c] + shape_.epsilon);
      }
    }
    for (int64_t c = 0; c < channels_; ++c) {
      scale_[c] = a.weight[c] * inverse_deviation_[c];
      offset_[c] = a.bias[c] - mean_[c] * scale_[c];
    }
    ForEachMatrix([&](int64_t m) {
      const int64_t c = matrices_.first_channel(m);
      NormTail tail;
      tail.relu = shape_.relu;
      if (has_residual_) tail.residual = a.residual + m * size();
      Normalize(a.x + m * size(), size_, &scale_[c], &offset_[c], tail,
                a.y + m * size());
    });
    return absl::OkStatus();
  }

  // With xhat = (x - mean) / deviation and n elements of a channel, the paper's
  // gradient is dx = weight / deviation * (g - sum(g) / n - xhat * sum(g xhat)
  // / n). The two sums are how the batch's statistics depend on x.
  absl::Status Backward(const BackwardArguments& a) override {
    ForEachMatrix([&](int64_t m) {
      SumGradients(GradientOf(a, m), size_, &mean_[matrices_.first_channel(m)],
                   &sums_[m * matrices_.width],
                   &products_[m * matrices_.width]);
    });
    for (int64_t c = 0; c < channels_; ++c) {
      const double sum = ChannelSum(sums_, c);
      const double sum_hat = ChannelSum(products_, c) * inverse_deviation_[c];
      a.dweight[c] = static_cast<float>(sum_hat);
      a.dbias[c] = static_cast<float>(sum);
      // In this case both factors stay 0.
      if (shape_.fixed_statistics) continue;
      const double of_hat = -scale_[c] * sum_hat / count_;
      of_input_[c] = static_cast<float>(of_hat * inverse_deviation_[c]);
      constant_[c] =
          static_cast<float>(-scale_[c] * sum / count_ -
                             of_hat * inverse_deviation_[c] * mean_[c]);
    }
    if (a.dx == nullptr) return absl::OkStatus();
    ForEachMatrix([&](int64_t m) {
      const int64_t c = matrices_.first_channel(m);
      NormInputGradient factors;
      factors.of_gradient = &scale_[c];
      factors.of_input = &of_input_[c];
      factors.constant = &constant_[c];
      FindInputGradient(GradientOf(a, m), size_, factors, a.dx + m * size());
    });
    return absl::OkStatus();
  }

 private:
  int64_t size() const { return matrices_.size(); }

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

  // Returns the sum for one channel over all matrices, in their order.
  double ChannelSum(const std::vector<double>& sums, int64_t channel) const {
    const int64_t stride = matrices_.per_image * matrices_.width;
    double sum = 0;
    for (size_t i = channel; i < sums.size(); i += stride) sum += sums[i];
    return sum;
  }

  // Computes the mean and deviation of the batch, and updates the running ones.
  void MeasureBatch(const ForwardArguments& a) {
    // The first element of each channel is close enough to its mean.
    for (int64_t m = 0; m < matrices_.per_image; ++m) {
      const float* const row = a.x + m * size();
      std::copy(row, row + matrices_.width,
                shift_.begin() + matrices_.first_channel(m));
    }
    ForEachMatrix([&](int64_t m) {
      SumShifted(a.x + m * size(), size_, &shift_[matrices_.first_channel(m)],
                 &sums_[m * matrices_.width], &products_[m * matrices_.width]);
    });
    for (int64_t c = 0; c < channels_; ++c) {
      const double from_shift = ChannelSum(sums_, c) / count_;
      const double squares =
          ChannelSum(products_, c) - count_ * from_shift * from_shift;
      // Rounding alone could make the sum negative; a NaN stays NaN.
      const double sum_squares = squares < 0 ? 0 : squares;
      const double mean = shift_[c] + from_shift;
      mean_[c] = static_cast<float>(mean);
      inverse_deviation_[c] = static_cast<float>(
          1 / std::sqrt(sum_squares / count_ + shape_.epsilon));
      const auto move = [&](double batch, float* running) {
        // A running value would never recover from this, even if the iteration
        // is skipped.
        if (!std::isfinite(batch)) return;
        *running = static_cast<float>((1 - shape_.momentum) * *running +
                                      shape_.momentum * batch);
      };
      move(mean, &a.running_mean[c]);
      // This variance is unbiased, as in PyTorch; the one above is not.
      move(sum_squares / (count_ - 1), &a.running_variance[c]);
    }
  }

  NormGradient GradientOf(const BackwardArguments& a, int64_t m) const {
    const int64_t c = matrices_.first_channel(m);
    NormGradient gradient;
    gradient.x = a.x + m * size();
    gradient.dy = a.dy + m * size();
    gradient.scale = &scale_[c];
    gradient.offset = &offset_[c];
    if (shape_.relu) {
      gradient.mask =
          has_residual_ ? NormMask::kFromOutput : NormMask::kFromInput;
      if (has_residual_) gradient.y = a.y + m * size();
    }
    return gradient;
  }

  ThreadPool* const pool_;  // Not owned.
  const BatchNormShape shape_;
  const bool has_residual_;
  const ActivationDesc output_;
  const ChannelMatrices matrices_;
  const MatrixSize size_;
  const int64_t channels_;
  const double count_;  // The number of elements of a channel.

  // Values per channel, which Forward sets for Backward.
  std::vector<float> mean_;
  std::vector<float> inverse_deviation_;
  std::vector<float> scale_;
  std::vector<float> offset_;
  // Values per channel; training only.
  std::vector<float> shift_;
  std::vector<float> of_input_;
  std::vector<float> constant_;
  // [matrix, column]; training only.
  std::vector<double> sums_;
  std::vector<double> products_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BatchNormOp>> PlanCpuBatchNorm(
    ThreadPool* pool, const BatchNormShape& shape, const ActivationDesc& input,
    const ActivationDesc* residual) {
  const std::string what =
      absl::StrCat("batch normalisation of ", ShapeString(input.shape));
  PS_RETURN_IF_ERROR(CheckActivation(what, input));
  if (input.shape.size() != 2 && input.shape.size() != 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": needs [batch, features] or [batch, channels, height, width]"));
  }
  if (shape.measures_batch() && NumElements(input.shape) == input.shape[1]) {
    return absl::InvalidArgumentError(absl::StrCat(
        what,
        ": one value in each channel has no variance to train with; "
        "needs a larger batch or image"));
  }
  if (residual != nullptr && (residual->shape != input.shape ||
                              OrderOf(*residual) != OrderOf(input))) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": the residual is ", ShapeString(residual->shape),
                     "; it must have the input's shape and layout"));
  }
  return std::make_unique<CpuBatchNorm>(pool, shape, input,
                                        residual != nullptr);
}

}  // namespace ps
