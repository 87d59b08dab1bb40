// Implements the data set "tones": generated speech, so that a speech model can
// be tried without any file.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "data/dataset.h"
#include "data/recordings.h"
#include "data/speech_dataset.h"
#include "data/tone_speech.h"

namespace ps {
namespace {

// The purpose separates these draws from all others with the same seed.
constexpr uint64_t kTonesPurpose = 0x746f6e6573;  // "tones"

// The split is a part of the key of every recording, so that no test recording
// is a training one.
enum Split : uint64_t { kTrain = 0, kTest = 1 };

// Keeps texts in memory, and generates sounds on reading.
class ToneRecordings final : public Recordings {
 public:
  ToneRecordings(uint64_t seed, Split split, double noise, int64_t size)
      : seed_(seed), split_(split), noise_(noise), texts_(size) {
    for (int64_t i = 0; i < size; ++i) {
      RandomStream random = Stream(i);
      texts_[i] = DrawWords(&random);
    }
  }

  int64_t size() const override { return static_cast<int64_t>(texts_.size()); }
  const std::string& transcript(int64_t number) const override {
    return texts_[number];
  }

  std::string name(int64_t number) const override {
    return absl::StrCat("recording ", number, " of \"tones\"");
  }
  // Unknown, since generating a recording takes as long as reading it.
  std::optional<int64_t> num_samples(int64_t) const override {
    return std::nullopt;
  }

  absl::StatusOr<std::vector<int16_t>> Samples(int64_t number) const override {
    RandomStream random = Stream(number);
    const std::string text = DrawWords(&random);
    return DrawTones(text, noise_, &random);
  }

 private:
  RandomStream Stream(int64_t number) const {
    return RandomStream(RandomKey(seed_, kTonesPurpose,
                                  static_cast<uint64_t>(split_),
                                  static_cast<uint64_t>(number)));
  }

  const uint64_t seed_;
  const Split split_;
  const double noise_;
  std::vector<std::string> texts_;
};

absl::StatusOr<DatasetPair> NewTones(const DatasetOptions& options) {
  const TonesConfig& config = options.config.tones();
  PS_ASSIGN_OR_RETURN(
      const SpeechFeatures features,
      SpeechFeatures::Create(options.config.speech(), kToneSampleRate));
  auto train = std::make_unique<ToneRecordings>(
      options.seed, kTrain, config.noise(), config.train_examples());
  auto test = std::make_unique<ToneRecordings>(
      options.seed, kTest, config.noise(), config.test_examples());
  const std::string alphabet = SpeechAlphabet({train.get()});
  DatasetPair pair;
  PS_ASSIGN_OR_RETURN(pair.train,
                      NewSpeechDataset(std::move(train), features, alphabet));
  PS_ASSIGN_OR_RETURN(pair.test,
                      NewSpeechDataset(std::move(test), features, alphabet));
  return pair;
}

REGISTER_DATASET("tones", "generated sound with transcripts; needs no files",
                 NewTones);

}  // namespace
}  // namespace ps
