#include "data/speech_features.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

SpeechFeatures Make(const SpeechConfig& config, int64_t sample_rate) {
  auto features = SpeechFeatures::Create(config, sample_rate);
  EXPECT_TRUE(features.ok()) << features.status();
  return *std::move(features);
}

std::vector<float> Compute(const SpeechFeatures& features,
                           const std::vector<int16_t>& samples) {
  std::vector<float> out(features.NumFrames(samples.size()) *
                         features.num_features());
  features.Compute(samples, out.data());
  return out;
}

// `half` samples of silence with a little noise, then `half` samples of a tone.
std::vector<int16_t> SilenceAndTone(double hertz, int half, double rate) {
  RandomStream random(1);
  std::vector<int16_t> samples;
  for (int i = 0; i < 2 * half; ++i) {
    const double tone =
        i < half ? 0 : 8000 * std::sin(2 * M_PI * hertz * i / rate);
    samples.push_back(static_cast<int16_t>(tone + 20 * random.Normal()));
  }
  return samples;
}

TEST(SpeechFeaturesTest, FramesAreWindowsThatFit) {
  const SpeechFeatures features = Make(SpeechConfig(), 16000);
  EXPECT_EQ(features.window_size(), 320);
  EXPECT_EQ(features.num_features(), 40);
  EXPECT_EQ(features.NumFrames(0), 0);
  EXPECT_EQ(features.NumFrames(319), 0);
  EXPECT_EQ(features.NumFrames(320), 1);
  EXPECT_EQ(features.NumFrames(479), 1);
  EXPECT_EQ(features.NumFrames(480), 2);
  EXPECT_EQ(features.NumFrames(16000), 99);
}

TEST(SpeechFeaturesTest, TheSpectrogramHasEveryFrequency) {
  SpeechConfig config;
  config.set_features(SpeechConfig::LOG_SPECTROGRAM);
  EXPECT_EQ(Make(config, 16000).num_features(), 161);
  // 220.5 samples, rounded down.
  EXPECT_EQ(Make(config, 11025).num_features(), 111);
  // An odd window is padded with a zero for the transform.
  config.set_window_milliseconds(1);
  EXPECT_EQ(Make(config, 11025).num_features(), 7);
}

TEST(SpeechFeaturesTest, EveryFeatureHasMeanZeroAndDeviationOne) {
  for (const auto kind :
       {SpeechConfig::LOG_MEL, SpeechConfig::LOG_SPECTROGRAM}) {
    SpeechConfig config;
    config.set_features(kind);
    const SpeechFeatures features = Make(config, 16000);
    const std::vector<float> out =
        Compute(features, SilenceAndTone(1000, 8000, 16000));
    const int64_t width = features.num_features();
    const int64_t frames = static_cast<int64_t>(out.size()) / width;
    for (int64_t i = 0; i < width; ++i) {
      double sum = 0, squares = 0;
      for (int64_t t = 0; t < frames; ++t) {
        const double value = out[t * width + i];
        sum += value, squares += value * value;
      }
      EXPECT_NEAR(sum / frames, 0, 1e-5);
      EXPECT_NEAR(squares / frames, 1, 1e-4);
    }
  }
}

// Compared to silence, a tone's energy is in the feature of its own frequency,
// where the two halves differ most consistently.
TEST(SpeechFeaturesTest, AToneShowsInTheFeaturesOfItsFrequency) {
  SpeechConfig config;
  config.set_features(SpeechConfig::LOG_SPECTROGRAM);
  const SpeechFeatures features = Make(config, 16000);
  const std::vector<float> out =
      Compute(features, SilenceAndTone(1000, 8000, 16000));
  // Features are 50 Hz apart. Uses a window in the middle of each half.
  const auto at = [&](int64_t frame, int64_t feature) {
    return out[frame * features.num_features() + feature];
  };
  EXPECT_GT(at(75, 20), 0.7);
  EXPECT_LT(at(25, 20), -0.7);
  // Far away only the noise remains, which is the same in both halves.
  double far = 0;
  for (int64_t frame = 55; frame < 95; ++frame) far += at(frame, 120) / 40;
  EXPECT_LT(std::abs(far), 0.5);
}

// Finds the triangle with the highest power, by the definition of the mel
// scale.
TEST(SpeechFeaturesTest, AToneShowsInItsMelFilter) {
  SpeechConfig config;
  config.set_mel_filters(24);
  const SpeechFeatures features = Make(config, 16000);
  const double highest = 2595 * std::log10(1 + 8000 / 700.0);
  for (int filter = 2; filter < 24; filter += 3) {
    const double mel = highest * (filter + 1) / 25;
    const double hertz = 700 * (std::pow(10, mel / 2595) - 1);
    // Compares a tone to silence without noise. The larger the difference
    // before scaling, the more the leakage into neighbours counts too. So the
    // tone's filter is compared using a second tone two filters away.
    const double other_mel =
        highest * (filter < 12 ? filter + 4 : filter - 2) / 25;
    const double other = 700 * (std::pow(10, other_mel / 2595) - 1);
    std::vector<int16_t> samples;
    for (int i = 0; i < 16000; ++i) {
      const double f = i < 8000 ? hertz : other;
      samples.push_back(
          static_cast<int16_t>(8000 * std::sin(2 * M_PI * f * i / 16000)));
    }
    const std::vector<float> out = Compute(features, samples);
    EXPECT_GT(out[25 * 24 + filter], 0.9) << filter;
    EXPECT_LT(out[75 * 24 + filter], -0.9) << filter;
  }
}

TEST(SpeechFeaturesTest, SilenceIsZeroAndFinite) {
  const SpeechFeatures features = Make(SpeechConfig(), 16000);
  EXPECT_THAT(Compute(features, std::vector<int16_t>(1600)), Each(0.0f));
}

TEST(SpeechFeaturesTest, RefusesWhatHasNoSamplesOrNoFrequencies) {
  SpeechConfig config;
  config.set_window_milliseconds(1);
  auto features = SpeechFeatures::Create(config, 1000);
  EXPECT_EQ(features.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(features.status().message()),
              HasSubstr("at 1000 samples a second"));
  config = SpeechConfig();
  config.set_mel_filters(400);
  features = SpeechFeatures::Create(config, 16000);
  EXPECT_EQ(features.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(features.status().message()),
              HasSubstr("data.speech.mel_filters is 400"));
  config.set_mel_filters(80);
  EXPECT_TRUE(SpeechFeatures::Create(config, 16000).ok());
}

}  // namespace
}  // namespace ps
