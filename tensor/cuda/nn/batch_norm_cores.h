// Passes of batch normalisation over [batch, channels, pixels], or arrays with
// the channels last (channel_sum_cores.h). Formulas and rounding are as on the
// CPU (tensor/cpu/cpu_batch_norm.cc), with all sums in double. T is the type of
// the activations and their gradients.
#ifndef TENSOR_CUDA_NN_BATCH_NORM_CORES_H_
#define TENSOR_CUDA_NN_BATCH_NORM_CORES_H_

#include <math.h>

#include <cstdint>

#include "tensor/cuda/layer_device/kernel_core.h"
#include "tensor/cuda/nn/channel_sum_cores.h"

namespace ps {

// Values that Forward computes for Backward; each [channels].
struct NormStatistics {
  float* mean;
  float* inverse_deviation;
  float* scale;   // weight / deviation
  float* offset;  // bias - mean * scale

  // A single rounding, the same forward and backward: the ReLU must pass the
  // same elements both times.
  PS_HOST_DEVICE float Normalized(int64_t channel, float x) const {
    return fmaf(x, scale[channel], offset[channel]);
  }
  PS_HOST_DEVICE void SetScale(int64_t channel, const float* weight,
                               const float* bias) const {
    scale[channel] = weight[channel] * inverse_deviation[channel];
    offset[channel] = bias[channel] - mean[channel] * scale[channel];
  }
};

// The sums of x - shift and (x - shift)^2. The shift, the first element of the
// channel, is close enough to the mean to keep the variance free of
// cancellation.
template <typename T>
struct ShiftedTerms {
  using Element = T;
  static constexpr const char* kName = "SumShifted";
  const T* x;
  Divisor pixels;

  PS_HOST_DEVICE PairOfSums operator()(int64_t channel, int64_t place) const {
    const double d = static_cast<double>(x[place]) -
                     static_cast<double>(x[channel * pixels.value()]);
    return {d, d * d};
  }
};

// Count: channels.
template <typename T>
struct FinishStatisticsCore : ElementCore {
  static constexpr const char* kName = "FinishStatistics";
  ChannelGeometry geometry;
  const double* sums;
  const double* squares;
  const T* x;
  const float* weight;
  const float* bias;
  float epsilon;
  float momentum;
  float* running_mean;
  float* running_variance;
  NormStatistics statistics;

  PS_HOST_DEVICE void operator()(int64_t c) const {
    const double count = static_cast<double>(geometry.elements);
    const double from_shift = geometry.Total(sums, c) / count;
    const double about_mean =
        geometry.Total(squares, c) - count * from_shift * from_shift;
    // Rounding alone could make it negative; a NaN stays NaN.
    const double sum_squares = about_mean < 0 ? 0 : about_mean;
    const double mean =
        static_cast<double>(x[c * geometry.pixels.value()]) + from_shift;
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
template <typename T>
struct NormalizeCore : ElementCore {
  static constexpr const char* kName = "Normalize";
  ChannelGeometry geometry;
  NormStatistics statistics;
  const T* x;
  const T* residual;  // Null: none.
  bool relu;
  T* y;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    float value = statistics.Normalized(geometry.Channel(i), x[i]);
    if (residual != nullptr) value += residual[i];
    if (relu && value <= 0) value = 0;  // A NaN stays NaN.
    y[i] = value;
  }
};

// The elements whose gradient passes through the ReLU.
enum class NormGradientMask {
  kNone,       // No ReLU.
  kFromInput,  // Elements where the normalised input is above 0.
  // Elements where y is above 0; NormGradientTerms clears dy everywhere else.
  kFromOutput,
};

template <typename T>
struct NormGradient {
  NormGradientMask mask;
  NormStatistics statistics;
  const T* x;
  const T* y;  // For kFromOutput.
  T* dy;

  PS_HOST_DEVICE float At(int64_t channel, int64_t place) const {
    const float g = dy[place];
    if (mask == NormGradientMask::kFromInput) {
      return statistics.Normalized(channel, x[place]) > 0 ? g : 0;
    }
    return g;
  }
};

// The sums of g and g * (x - mean), where g is the gradient that passes the
// ReLU.
template <typename T>
struct NormGradientTerms {
  using Element = T;
  static constexpr const char* kName = "SumNormGradients";
  NormGradient<T> gradient;

  PS_HOST_DEVICE PairOfSums operator()(int64_t channel, int64_t place) const {
    float g = gradient.At(channel, place);
    if (gradient.mask == NormGradientMask::kFromOutput) {
      if (!(gradient.y[place] > 0.0f)) g = 0;
      gradient.dy[place] = g;
    }
    const double from_mean = static_cast<double>(gradient.x[place]) -
                             gradient.statistics.mean[channel];
    return {g, g * from_mean};
  }
};

// dx = g * scale + x * of_input + constant; both [channels].
struct NormInputFactors {
  float* of_input;
  float* constant;
};

// Count: channels.
struct FinishNormGradientCore : ElementCore {
  static constexpr const char* kName = "FinishNormGradient";
  ChannelGeometry geometry;
  NormStatistics statistics;
  const double* sums;
  const double* products;
  float* dweight;
  float* dbias;
  NormInputFactors factors;

  PS_HOST_DEVICE void operator()(int64_t c) const {
    const double count = static_cast<double>(geometry.elements);
    const double inverse = statistics.inverse_deviation[c];
    const double scale = statistics.scale[c];
    const double sum = geometry.Total(sums, c);
    const double sum_hat = geometry.Total(products, c) * inverse;
    dweight[c] = static_cast<float>(sum_hat);
    dbias[c] = static_cast<float>(sum);
    const double of_input = -scale * sum_hat / count * inverse;
    factors.of_input[c] = static_cast<float>(of_input);
    factors.constant[c] = static_cast<float>(-scale * sum / count -
                                             of_input * statistics.mean[c]);
  }
};

// Runs after NormGradientTerms has cleared dy where the ReLU blocks it. dx may
// be dy. Count: elements.
template <typename T>
struct NormInputGradientCore : ElementCore {
  static constexpr const char* kName = "NormInputGradient";
  ChannelGeometry geometry;
  NormGradient<T> gradient;
  NormInputFactors factors;
  T* dx;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t c = geometry.Channel(i);
    const float rest =
        fmaf(gradient.x[i], factors.of_input[c], factors.constant[c]);
    dx[i] = fmaf(gradient.At(c, i), gradient.statistics.scale[c], rest);
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_BATCH_NORM_CORES_H_
