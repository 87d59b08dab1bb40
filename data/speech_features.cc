#include "data/speech_features.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "kissfft/kiss_fftr.h"

namespace ps {
namespace {

constexpr double kPi = 3.141592653589793;

// This is added to the power of samples in [-1, 1]. It is far below the noise
// of 16 bits, and makes the logarithm of silence finite.
constexpr float kPowerFloor = 1e-10f;

double MelOfHertz(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double HertzOfMel(double mel) { return 700 * (std::pow(10.0, mel / 2595) - 1); }

// Normalises each column of x, [rows, columns], to mean 0 and deviation 1; a
// constant column becomes 0.
void Standardize(int64_t rows, int64_t columns, float* x) {
  for (int64_t column = 0; column < columns; ++column) {
    double sum = 0;
    double sum_of_squares = 0;
    for (int64_t row = 0; row < rows; ++row) {
      const double value = x[row * columns + column];
      sum += value;
      sum_of_squares += value * value;
    }
    const double mean = sum / rows;
    const double variance = std::max(sum_of_squares / rows - mean * mean, 0.0);
    // A smaller variance is only rounding error.
    const double scale = variance > 1e-8 ? 1 / std::sqrt(variance) : 0;
    for (int64_t row = 0; row < rows; ++row) {
      float& value = x[row * columns + column];
      value = static_cast<float>((value - mean) * scale);
    }
  }
}

}  // namespace

absl::StatusOr<SpeechFeatures> SpeechFeatures::Create(
    const SpeechConfig& config, int64_t sample_rate) {
  const auto samples_of = [sample_rate](double milliseconds) {
    return static_cast<int64_t>(
        std::floor(milliseconds * static_cast<double>(sample_rate) / 1000));
  };
  int64_t window_size = samples_of(config.window_milliseconds());
  const int64_t hop = samples_of(config.hop_milliseconds());
  if (window_size < 2 || hop < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "at ", sample_rate, " samples a second, a window of ",
        config.window_milliseconds(), " ms and a hop of ",
        config.hop_milliseconds(), " ms must be at least 2 samples each"));
  }
  int64_t fft_size = window_size + window_size % 2;
  const bool mel = config.features() == SpeechConfig::LOG_MEL;
  if (mel) {
    // The resolution is at least that of the window, so that low triangles,
    // which are narrow, contain some frequencies.
    for (fft_size = 2; fft_size < window_size;) fft_size *= 2;
  }
  SpeechFeatures features;
  features.fft_size_ = fft_size;
  features.sample_rate_ = sample_rate;
  features.hop_ = hop;
  features.window_.resize(window_size);
  for (int64_t i = 0; i < window_size; ++i) {
    const double phase = 2 * kPi * static_cast<double>(i) / window_size;
    // The window also scales samples to [-1, 1].
    features.window_[i] =
        static_cast<float>((0.5 - 0.5 * std::cos(phase)) / 32768);
  }
  features.num_features_ = features.num_bins();
  if (mel) PS_RETURN_IF_ERROR(features.MakeTriangles(config.mel_filters()));
  return features;
}

absl::Status SpeechFeatures::MakeTriangles(int64_t count) {
  const double hertz_per_bin =
      static_cast<double>(sample_rate_) / static_cast<double>(fft_size_);
  const double highest_mel = MelOfHertz(static_cast<double>(sample_rate_) / 2);
  const auto corner = [=](int64_t i) {
    return HertzOfMel(highest_mel * static_cast<double>(i) /
                      static_cast<double>(count + 1));
  };
  for (int64_t i = 0; i < count; ++i) {
    const double low = corner(i), middle = corner(i + 1), high = corner(i + 2);
    Triangle triangle;
    for (int64_t bin = 0; bin < num_bins(); ++bin) {
      const double hertz = static_cast<double>(bin) * hertz_per_bin;
      const double weight = std::min((hertz - low) / (middle - low),
                                     (high - hertz) / (high - middle));
      if (weight <= 0) continue;
      if (triangle.weights.empty()) triangle.first_bin = bin;
      triangle.weights.push_back(static_cast<float>(weight));
    }
    if (triangle.weights.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("data.speech.mel_filters is ", count, "; at ",
                       sample_rate_, " samples a second and ", fft_size_,
                       " points, filter ", i, " has no frequency in it"));
    }
    triangles_.push_back(std::move(triangle));
  }
  num_features_ = count;
  return absl::OkStatus();
}

int64_t SpeechFeatures::NumFrames(int64_t num_samples) const {
  if (num_samples < window_size()) return 0;
  return (num_samples - window_size()) / hop_ + 1;
}

void SpeechFeatures::Compute(const std::vector<int16_t>& samples,
                             float* features) const {
  const int64_t num_frames = NumFrames(static_cast<int64_t>(samples.size()));
  // It has scratch memory of its own, which threads cannot share.
  const std::unique_ptr<kiss_fftr_state, decltype(&std::free)> fft(
      kiss_fftr_alloc(static_cast<int>(fft_size_), /*inverse_fft=*/0, nullptr,
                      nullptr),
      std::free);
  std::vector<float> frame(fft_size_);
  std::vector<kiss_fft_cpx> spectrum(num_bins());
  std::vector<float> power(num_bins());
  for (int64_t t = 0; t < num_frames; ++t) {
    const int16_t* sample = &samples[t * hop_];
    for (int64_t i = 0; i < window_size(); ++i) {
      frame[i] = window_[i] * static_cast<float>(sample[i]);
    }
    kiss_fftr(fft.get(), frame.data(), spectrum.data());
    std::transform(spectrum.begin(), spectrum.end(), power.begin(),
                   [](const kiss_fft_cpx& x) { return x.r * x.r + x.i * x.i; });
    float* out = features + t * num_features_;
    if (triangles_.empty()) std::copy(power.begin(), power.end(), out);
    for (size_t i = 0; i < triangles_.size(); ++i) {
      const Triangle& triangle = triangles_[i];
      float sum = 0;
      for (size_t k = 0; k < triangle.weights.size(); ++k) {
        sum += triangle.weights[k] * power[triangle.first_bin + k];
      }
      out[i] = sum;
    }
    for (int64_t i = 0; i < num_features_; ++i) {
      out[i] = std::log(out[i] + kPowerFloor);
    }
  }
  Standardize(num_frames, num_features_, features);
}

}  // namespace ps
