// Computes a speech model's input: the spectrum of a recording, frame by frame.
#ifndef DATA_SPEECH_FEATURES_H_
#define DATA_SPEECH_FEATURES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/data_config.pb.h"

namespace ps {

// Computes features. A frame of the window's length begins at every multiple of
// the hop; each is weighted by a Hann window and transformed. The features are
// the logarithms of the power, either of each frequency or of sums over
// triangles that are evenly spaced on the mel scale (Davis and Mermelstein,
// "Comparison of parametric representations for monosyllabic word recognition",
// IEEE Trans. ASSP 1980; mel = 2595 log10(1 + f / 700)). Each feature is then
// normalised to mean 0 and deviation 1 over the recording. This also removes
// the effect of any fixed filter, and so there is no pre-emphasis. Immutable;
// any thread may use it.
class SpeechFeatures {
 public:
  // Creates it. Errors: kInvalidArgument if a window or hop is shorter than 2
  // samples, or a triangle is so narrow that it contains no frequency.
  static absl::StatusOr<SpeechFeatures> Create(const SpeechConfig& config,
                                               int64_t sample_rate);

  int64_t sample_rate() const { return sample_rate_; }
  // The number of features of a frame.
  int64_t num_features() const { return num_features_; }
  // The number of samples of the shortest recording that has a frame.
  int64_t window_size() const { return static_cast<int64_t>(window_.size()); }

  // The number of frames of a recording with num_samples samples; samples at
  // the end that do not fill a window are dropped.
  int64_t NumFrames(int64_t num_samples) const;

  // Computes features: [NumFrames(samples.size()), num_features()].
  void Compute(const std::vector<int16_t>& samples, float* features) const;

 private:
  // A weighted range of the power spectrum's frequencies.
  struct Triangle {
    int64_t first_bin = 0;
    std::vector<float> weights;
  };

  // Frequencies of the transform, from 0 to half of the sample rate.
  int64_t num_bins() const { return fft_size_ / 2 + 1; }
  absl::Status MakeTriangles(int64_t count);

  int64_t sample_rate_ = 0;
  int64_t hop_ = 0;  // The hop in samples.
  int64_t num_features_ = 0;
  std::vector<float> window_;        // Weights of the samples.
  int64_t fft_size_ = 0;             // Even.
  std::vector<Triangle> triangles_;  // Empty: every frequency is a feature.
};

}  // namespace ps

#endif  // DATA_SPEECH_FEATURES_H_
