// The generated speech: letters can be recognised from the sound.
#include <algorithm>
#include <string>
#include <vector>

#include "common/random.h"
#include "data/dataset.h"
#include "data/speech_features.h"
#include "data/tone_speech.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

// The features of the middle of a letter, between two others.
std::vector<float> Hear(char letter, uint64_t key) {
  const auto features =
      SpeechFeatures::Create(SpeechConfig(), kToneSampleRate).value();
  RandomStream random(key);
  const std::string others = "KXBQ";
  std::string text = {others[key % 4], letter, others[key / 4 % 4]};
  // The lengths of the letters before and after differ by up to 15 % each, so
  // the middle of the sound is within the letter.
  const std::vector<int16_t> samples = DrawTones(text, 0.1, &random);
  std::vector<float> all(features.NumFrames(samples.size()) *
                         features.num_features());
  features.Compute(samples, all.data());
  const auto middle = all.begin() + all.size() / features.num_features() / 2 *
                                        features.num_features();
  return std::vector<float>(middle, middle + features.num_features());
}

double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

TEST(TonesTest, LettersAreNearestToTheMeanOfTheirKind) {
  constexpr int kSamples = 8;
  std::vector<std::vector<float>> means;
  for (char letter = 'A'; letter <= 'Z'; ++letter) {
    std::vector<float> mean;
    for (int i = 0; i < kSamples; ++i) {
      const std::vector<float> heard = Hear(letter, i);
      mean.resize(heard.size());
      for (size_t k = 0; k < heard.size(); ++k) mean[k] += heard[k] / kSamples;
    }
    means.push_back(mean);
  }
  int right = 0;
  for (int letter = 0; letter < 26; ++letter) {
    for (int i = 0; i < kSamples; ++i) {
      const std::vector<float> heard =
          Hear(static_cast<char>('A' + letter), 100 + i);
      const auto nearest = std::min_element(
          means.begin(), means.end(), [&heard](const auto& a, const auto& b) {
            return Distance(a, heard) < Distance(b, heard);
          });
      right += nearest - means.begin() == letter ? 1 : 0;
    }
  }
  RecordProperty("right", right);
  // A random guess is right once in 26.
  EXPECT_GT(right, 26 * kSamples * 7 / 10);
}

TEST(TonesTest, NoiseOfFullStrengthDoesNotOverflow) {
  RandomStream random(1);
  for (const int16_t sample : DrawTones("ZZZZ", 1, &random)) {
    EXPECT_GE(sample, -32767);
  }
}

// CTC needs one step for each character of a transcript, and one more between
// two equal ones; models take up to four frames for a step.
TEST(TonesTest, EveryRecordingIsLongEnoughForItsTranscript) {
  DatasetOptions options;
  options.config.set_name("tones");
  options.config.mutable_tones()->set_train_examples(300);
  const auto pair = NewDataset(options);
  ASSERT_TRUE(pair.ok()) << pair.status();
  Batch batch;
  for (int64_t i = 0; i < 300; ++i) {
    ASSERT_TRUE(pair->train->Read({i}, 0, &batch).ok());
    int needed = batch.label_lengths[0];
    for (size_t k = 1; k < batch.labels.size(); ++k) {
      needed += batch.labels[k] == batch.labels[k - 1] ? 1 : 0;
    }
    EXPECT_GE(batch.input_lengths[0], 4 * needed) << i;
    EXPECT_LE(batch.input_lengths[0], 500) << i;
  }
}

}  // namespace
}  // namespace ps
