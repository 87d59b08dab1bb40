// Batch normalisation on CUDA, over [batch, channels, pixels] or arrays with
// the channels last. Formulas and rounding are as on the CPU
// (tensor/cpu/cpu_batch_norm.cc), with all sums in double.
//
// It uses our own kernels rather than cuDNN's: the sums are in double and in a
// fixed order, a batch with a NaN does not change the running statistics, the
// residual and the ReLU are fused in any combination, and all passes are bound
// by memory bandwidth.

#include <math.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/channel_sums.cuh"
#include "tensor/cuda/layer_device/elementwise.cuh"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// Values that Forward computes for Backward; each [channels].
struct NormStatistics {
  float* mean;
  float* inverse_deviation;
  float* scale;   // weight / deviation
  float* offset;  // bias - mean * scale

  __device__ void SetScale(int64_t channel, const float* weight,
                           const float* bias) const {
    scale[channel] = weight[channel] * inverse_deviation[channel];
    offset[channel] = bias[channel] - mean[channel] * scale[channel];
  }
};

// The gradient of the input is g * scale + x * of_input + constant, where g is
// the gradient that passes the ReLU; both [channels].
struct NormInputFactors {
  float* of_input;
  float* constant;
};

struct ScaleAndOffset {
  float scale;
  float offset;
};

// The last step of normalisation, without a residual. A single rounding, the
// same forward and backward: the ReLU must pass the same elements both times.
__device__ inline float Normalized(float x, float scale, float offset) {
  return fmaf(x, scale, offset);
}

// Moves a running value. Only finite values do: a running value would never
// recover from any other, even if the iteration is skipped.
__device__ inline void Move(float momentum, double batch, float* running) {
  if (batch - batch != 0) return;
  *running = static_cast<float>((1 - momentum) * *running +
                                static_cast<double>(momentum) * batch);
}

template <typename T>
class CudaBatchNorm final : public BatchNormOp {
 public:
  CudaBatchNorm(LayerDevice* device, const BatchNormShape& shape,
                Storage storage, const ActivationDesc& input, bool has_residual)
      : device_(device),
        shape_(shape),
        has_residual_(has_residual),
        output_(input),
        geometry_(storage, input.shape) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Allocate() {
    constexpr int64_t kVectors = 6;
    const int64_t channels = geometry_.channels();
    PS_ASSIGN_OR_RETURN(
        vectors_, DeviceArray<float>::Create(device_, kVectors * channels));
    const auto vector = [&](int64_t i) {
      return vectors_.data() + i * channels;
    };
    statistics_ = {vector(0), vector(1), vector(2), vector(3)};
    factors_ = {vector(4), vector(5)};
    if (!shape_.training) return absl::OkStatus();
    return device_->ReserveScratch(ChannelSumsScratchBytes(geometry_));
  }

  absl::Status Forward(const ForwardArguments& a) override {
    PS_RETURN_IF_ERROR(shape_.measures_batch() ? MeasureBatch(a)
                                               : TakeRunning(a));
    const bool relu = shape_.relu;
    const NormStatistics s = statistics_;
    const auto of_channel = [=] __device__(int64_t c) {
      return ScaleAndOffset{s.scale[c], s.offset[c]};
    };
    if (!has_residual_) {
      return LaunchChannelPackets(
          device_, "Normalize", geometry_.map, geometry_.size(), of_channel,
          [=] __device__(const ScaleAndOffset& c, float x) {
            const float value = Normalized(x, c.scale, c.offset);
            return relu && value <= 0 ? 0 : value;  // A NaN stays NaN.
          },
          Elements<T>(a.y), Elements<T>(a.x));
    }
    return LaunchChannelPackets(
        device_, "Normalize", geometry_.map, geometry_.size(), of_channel,
        [=] __device__(const ScaleAndOffset& c, float x, float residual) {
          const float value = Normalized(x, c.scale, c.offset) + residual;
          return relu && value <= 0 ? 0 : value;
        },
        Elements<T>(a.y), Elements<T>(a.x), Elements<T>(a.residual));
  }

  absl::Status Backward(const BackwardArguments& a) override {
    PS_RETURN_IF_ERROR(SumGradients(a));
    if (a.dx == nullptr) return absl::OkStatus();
    // SumGradients has cleared dy if the mask is from the output.
    const bool masks = masks_by_input();
    const NormStatistics s = statistics_;
    const NormInputFactors f = factors_;
    struct Channel {
      float scale;
      float offset;
      float of_input;
      float constant;
    };
    return LaunchChannelPackets(
        device_, "NormInputGradient", geometry_.map, geometry_.size(),
        [=] __device__(int64_t c) {
          return Channel{s.scale[c], s.offset[c], f.of_input[c], f.constant[c]};
        },
        [=] __device__(const Channel& c, float x, float dy) {
          const bool passes = !masks || Normalized(x, c.scale, c.offset) > 0;
          return fmaf(passes ? dy : 0, c.scale,
                      fmaf(x, c.of_input, c.constant));
        },
        Elements<T>(a.dx), Elements<T>(a.x), Elements<T>(a.dy));
  }

  // The statistics of the batch, from the sums of x - shift and (x - shift)^2.
  // The shift, the first element of the channel, is close enough to the mean to
  // keep the variance free of cancellation.
  absl::Status MeasureBatch(const ForwardArguments& a) {
    const int64_t pixels = geometry_.map.pixels.value();
    const double count = static_cast<double>(geometry_.elements);
    const double epsilon = shape_.epsilon;
    const float momentum = shape_.momentum;
    const T* const x = Elements<T>(a.x);
    const NormStatistics s = statistics_;
    return SumChannels(
        device_, "BatchStatistics", geometry_,
        [=] __device__(int64_t c) {
          return static_cast<double>(x[c * pixels]);
        },
        [=] __device__(double shift, float x) {
          const double d = static_cast<double>(x) - shift;
          return Term{d, d * d, 0};
        },
        [=] __device__(int64_t c, double sum, double squares) {
          const double from_shift = sum / count;
          const double about_mean = squares - count * from_shift * from_shift;
          // Rounding alone could make it negative; a NaN stays NaN.
          const double sum_squares = about_mean < 0 ? 0 : about_mean;
          const double mean = static_cast<double>(x[c * pixels]) + from_shift;
          s.mean[c] = static_cast<float>(mean);
          s.inverse_deviation[c] =
              static_cast<float>(1 / sqrt(sum_squares / count + epsilon));
          s.SetScale(c, a.weight, a.bias);
          Move(momentum, mean, &a.running_mean[c]);
          // Unbiased, as in PyTorch, unlike the variance that normalises.
          Move(momentum, sum_squares / (count - 1), &a.running_variance[c]);
        },
        static_cast<void*>(nullptr), x);
  }

  absl::Status TakeRunning(const ForwardArguments& a) {
    const float epsilon = shape_.epsilon;
    const NormStatistics s = statistics_;
    return LaunchElements(device_, "InferenceStatistics", geometry_.channels(),
                          [=] __device__(int64_t c) {
                            s.mean[c] = a.running_mean[c];
                            s.inverse_deviation[c] =
                                1 / sqrtf(a.running_variance[c] + epsilon);
                            s.SetScale(c, a.weight, a.bias);
                          });
  }

  // The sums of g and g * (x - mean), where g is the gradient that passes the
  // ReLU: that of elements where y is above 0. Without a residual, y is
  // computed again from x; with one, dy is cleared where it does not pass.
  absl::Status SumGradients(const BackwardArguments& a) {
    // What depends on the batch's statistics vanishes with a large batch.
    const double count = shape_.fixed_statistics
                             ? static_cast<double>(INFINITY)
                             : static_cast<double>(geometry_.elements);
    const bool masks = masks_by_input();
    const NormStatistics s = statistics_;
    const NormInputFactors f = factors_;
    struct Channel {
      float mean;
      float scale;
      float offset;
    };
    const auto of_channel = [=] __device__(int64_t c) {
      return Channel{s.mean[c], s.scale[c], s.offset[c]};
    };
    const auto finish = [=] __device__(int64_t c, double sum, double product) {
      const double inverse = s.inverse_deviation[c];
      const double scale = s.scale[c];
      const double sum_hat = product * inverse;
      a.dweight[c] = static_cast<float>(sum_hat);
      a.dbias[c] = static_cast<float>(sum);
      const double of_input = -scale * sum_hat / count * inverse;
      f.of_input[c] = static_cast<float>(of_input);
      f.constant[c] =
          static_cast<float>(-scale * sum / count - of_input * s.mean[c]);
    };
    if (shape_.relu && has_residual_) {
      return SumChannels(
          device_, "SumNormGradients", geometry_, of_channel,
          [=] __device__(const Channel& c, float dy, float x, float y) {
            const float g = y > 0 ? dy : 0;
            return Term{g, g * (static_cast<double>(x) - c.mean), g};
          },
          finish, Elements<T>(a.dy), Elements<T>(a.dy), Elements<T>(a.x),
          Elements<T>(a.y));
    }
    return SumChannels(
        device_, "SumNormGradients", geometry_, of_channel,
        [=] __device__(const Channel& c, float dy, float x) {
          const bool passes = !masks || Normalized(x, c.scale, c.offset) > 0;
          const float g = passes ? dy : 0;
          return Term{g, g * (static_cast<double>(x) - c.mean), 0};
        },
        finish, static_cast<void*>(nullptr), Elements<T>(a.dy),
        Elements<T>(a.x));
  }

 private:
  bool masks_by_input() const { return shape_.relu && !has_residual_; }

  LayerDevice* const device_;  // Not owned.
  const BatchNormShape shape_;
  const bool has_residual_;
  const ActivationDesc output_;
  const ChannelGeometry geometry_;
  DeviceArray<float> vectors_;  // The memory of the next two.
  NormStatistics statistics_ = {};
  NormInputFactors factors_ = {};
};

}  // namespace

absl::StatusOr<std::unique_ptr<BatchNormOp>> CudaNnKernels::PlanBatchNorm(
    const BatchNormShape& shape, const ActivationDesc& input,
    const ActivationDesc* residual) {
  const std::string what =
      absl::StrCat("batch normalisation of ", ShapeString(input.shape));
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaActivation(what, input));
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
  if (residual != nullptr) {
    PS_ASSIGN_OR_RETURN(const Storage residual_storage,
                        CheckCudaActivation(what, *residual));
    if (residual->shape != input.shape || residual_storage != storage) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": the residual is ", ShapeString(residual->shape),
                       "; it must have the input's shape and layout"));
    }
  }
  using Planned = absl::StatusOr<std::unique_ptr<BatchNormOp>>;
  return WithElementOf(storage, [&](auto element) -> Planned {
    auto op = std::make_unique<CudaBatchNorm<decltype(element)>>(
        device(), shape, storage, input, residual != nullptr);
    PS_RETURN_IF_ERROR(op->Allocate());
    return op;
  });
}

}  // namespace ps
