// Passes of batch normalisation over [batch, channels, pixels], or arrays with
// the channels last (channel_sum_cores.h). Formulas and rounding are as on the
// CPU (tensor/cpu/cpu_batch_norm.cc), with all sums in double. T is the type of
// the activations and their gradients.
#ifndef TENSOR_CUDA_NN_BATCH_NORM_CORES_H_
#define TENSOR_CUDA_NN_BATCH_NORM_CORES_H_

#include <math.h>

#include <cstdint>
#include <type_traits>

#include "tensor/cuda/layer_device/kernel_core.h"
#include "tensor/cuda/layer_device/packet_core.h"
#include "tensor/cuda/nn/channel_sum_cores.h"

namespace ps {

// Values that Forward computes for Backward; each [channels].
struct NormStatistics {
  float* mean;
  float* inverse_deviation;
  float* scale;   // weight / deviation
  float* offset;  // bias - mean * scale

  PS_HOST_DEVICE void SetScale(int64_t channel, const float* weight,
                               const float* bias) const {
    scale[channel] = weight[channel] * inverse_deviation[channel];
    offset[channel] = bias[channel] - mean[channel] * scale[channel];
  }
};

// The last step of normalisation, without a residual. A single rounding, the
// same forward and backward: the ReLU must pass the same elements both times.
PS_HOST_DEVICE inline float Normalized(float x, float scale, float offset) {
  return fmaf(x, scale, offset);
}

// The sums of x - shift and (x - shift)^2. The shift, the first element of the
// channel, is close enough to the mean to keep the variance free of
// cancellation.
template <typename T>
struct ShiftedTerms {
  using Element = T;
  static constexpr const char* kName = "SumShifted";
  const T* x;
  int64_t pixels;

  using Inputs = Arrays<&ShiftedTerms::x>;
  using Output = Arrays<>;
  struct Channel {
    double shift;
  };
  PS_HOST_DEVICE Channel OfChannel(int64_t channel) const {
    return {static_cast<double>(x[channel * pixels])};
  }
  PS_HOST_DEVICE Term operator()(const Channel& channel, float x) const {
    const double d = static_cast<double>(x) - channel.shift;
    return {d, d * d, 0};
  }
};

template <typename T>
struct FinishStatistics {
  static constexpr const char* kName = "FinishStatistics";
  int64_t elements;  // Of a channel.
  int64_t pixels;
  const T* x;
  const float* weight;
  const float* bias;
  float epsilon;
  float momentum;
  float* running_mean;
  float* running_variance;
  NormStatistics statistics;

  PS_HOST_DEVICE void operator()(int64_t c, double sum, double squares) const {
    const double count = static_cast<double>(elements);
    const double from_shift = sum / count;
    const double about_mean = squares - count * from_shift * from_shift;
    // Rounding alone could make it negative; a NaN stays NaN.
    const double sum_squares = about_mean < 0 ? 0 : about_mean;
    const double mean = static_cast<double>(x[c * pixels]) + from_shift;
    statistics.mean[c] = static_cast<float>(mean);
    statistics.inverse_deviation[c] = static_cast<float>(
        1 / sqrt(sum_squares / count + static_cast<double>(epsilon)));
    statistics.SetScale(c, weight, bias);
    Move(mean, &running_mean[c]);
    // Unbiased, as in PyTorch, unlike the variance that normalises.
    Move(sum_squares / (count - 1), &running_variance[c]);
  }

 private:
  PS_HOST_DEVICE void Move(double batch, float* running) const {
    // Only finite values: a running value would never recover from any other,
    // even if the iteration is skipped.
    if (batch - batch != 0) return;
    *running = static_cast<float>((1 - momentum) * *running +
                                  static_cast<double>(momentum) * batch);
  }
};

// Uses the running statistics. Count: channels.
struct InferenceStatisticsCore : ElementCore {
  static constexpr const char* kName = "InferenceStatistics";
  const float* running_mean;
  const float* running_variance;
  const float* weight;
  const float* bias;
  float epsilon;
  NormStatistics statistics;

  PS_HOST_DEVICE void operator()(int64_t c) const {
    statistics.mean[c] = running_mean[c];
    statistics.inverse_deviation[c] = 1 / sqrtf(running_variance[c] + epsilon);
    statistics.SetScale(c, weight, bias);
  }
};

// y may be x or the residual. Count: elements.
template <typename T, bool kResidual>
struct NormalizeCore : ChannelPacketCore {
  static constexpr const char* kName = "Normalize";
  ChannelMap map;
  NormStatistics statistics;
  const T* x;
  const T* residual;  // If kResidual.
  bool relu;
  T* y;

  using Inputs =
      std::conditional_t<kResidual,
                         Arrays<&NormalizeCore::x, &NormalizeCore::residual>,
                         Arrays<&NormalizeCore::x>>;
  using Output = Arrays<&NormalizeCore::y>;
  struct Channel {
    float scale;
    float offset;
  };
  PS_HOST_DEVICE Channel OfChannel(int64_t c) const {
    return {statistics.scale[c], statistics.offset[c]};
  }
  PS_HOST_DEVICE float operator()(const Channel& c, float x,
                                  float residual = 0) const {
    float value = Normalized(x, c.scale, c.offset);
    if (kResidual) value += residual;
    if (relu && value <= 0) value = 0;  // A NaN stays NaN.
    return value;
  }
};

// The elements whose gradient passes through the ReLU.
enum class NormGradientMask {
  kNone,       // No ReLU.
  kFromInput,  // Elements where the normalised input is above 0.
  // Elements where y is above 0; NormGradientTerms clears dy everywhere else.
  kFromOutput,
};

// The sums of g and g * (x - mean), where g is the gradient that passes the
// ReLU.
template <typename T, NormGradientMask kMask>
struct NormGradientTerms {
  using Element = T;
  static constexpr const char* kName = "SumNormGradients";
  static constexpr bool kClears = kMask == NormGradientMask::kFromOutput;
  NormStatistics statistics;
  const T* x;
  const T* y;  // For kFromOutput.
  T* dy;

  using Inputs =
      std::conditional_t<kClears,
                         Arrays<&NormGradientTerms::dy, &NormGradientTerms::x,
                                &NormGradientTerms::y>,
                         Arrays<&NormGradientTerms::dy, &NormGradientTerms::x>>;
  using Output =
      std::conditional_t<kClears, Arrays<&NormGradientTerms::dy>, Arrays<>>;
  struct Channel {
    float mean;
    float scale;
    float offset;
  };
  PS_HOST_DEVICE Channel OfChannel(int64_t c) const {
    return {statistics.mean[c], statistics.scale[c], statistics.offset[c]};
  }
  PS_HOST_DEVICE Term operator()(const Channel& c, float dy, float x,
                                 float y = 0) const {
    const bool passes = kMask == NormGradientMask::kNone ||
                        (kClears ? y : Normalized(x, c.scale, c.offset)) > 0;
    const float g = passes ? dy : 0;
    const double from_mean = static_cast<double>(x) - c.mean;
    return {g, g * from_mean, g};
  }
};

// dx = g * scale + x * of_input + constant; both [channels].
struct NormInputFactors {
  float* of_input;
  float* constant;
};

struct FinishNormGradient {
  static constexpr const char* kName = "FinishNormGradient";
  int64_t elements;       // Of a channel.
  bool fixed_statistics;  // They do not depend on x.
  NormStatistics statistics;
  float* dweight;
  float* dbias;
  NormInputFactors factors;

  PS_HOST_DEVICE void operator()(int64_t c, double sum, double product) const {
    // What depends on the batch's statistics vanishes with a large batch.
    const double count = fixed_statistics ? static_cast<double>(INFINITY)
                                          : static_cast<double>(elements);
    const double inverse = statistics.inverse_deviation[c];
    const double scale = statistics.scale[c];
    const double sum_hat = product * inverse;
    dweight[c] = static_cast<float>(sum_hat);
    dbias[c] = static_cast<float>(sum);
    const double of_input = -scale * sum_hat / count * inverse;
    factors.of_input[c] = static_cast<float>(of_input);
    factors.constant[c] = static_cast<float>(-scale * sum / count -
                                             of_input * statistics.mean[c]);
  }
};

// Runs after NormGradientTerms, which clears dy if the mask is from the output.
// dx may be dy. Count: elements.
template <typename T>
struct NormInputGradientCore : ChannelPacketCore {
  static constexpr const char* kName = "NormInputGradient";
  ChannelMap map;
  bool masks;  // kFromInput.
  NormStatistics statistics;
  NormInputFactors factors;
  const T* x;
  const T* dy;
  T* dx;

  using Inputs = Arrays<&NormInputGradientCore::x, &NormInputGradientCore::dy>;
  using Output = Arrays<&NormInputGradientCore::dx>;
  struct Channel {
    float scale;
    float offset;
    float of_input;
    float constant;
  };
  PS_HOST_DEVICE Channel OfChannel(int64_t c) const {
    return {statistics.scale[c], statistics.offset[c], factors.of_input[c],
            factors.constant[c]};
  }
  PS_HOST_DEVICE float operator()(const Channel& c, float x, float dy) const {
    const bool passes = !masks || Normalized(x, c.scale, c.offset) > 0;
    return fmaf(passes ? dy : 0, c.scale, fmaf(x, c.of_input, c.constant));
  }
};

// By the type of the elements alone.
template <typename T>
using NormalizeOnlyCore = NormalizeCore<T, false>;
template <typename T>
using NormalizeAndAddCore = NormalizeCore<T, true>;
template <typename T>
using UnmaskedNormGradientTerms = NormGradientTerms<T, NormGradientMask::kNone>;
template <typename T>
using NormGradientTermsByInput =
    NormGradientTerms<T, NormGradientMask::kFromInput>;
template <typename T>
using NormGradientTermsByOutput =
    NormGradientTerms<T, NormGradientMask::kFromOutput>;

}  // namespace ps

#endif  // TENSOR_CUDA_NN_BATCH_NORM_CORES_H_
