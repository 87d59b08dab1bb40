#include "data/speech_dataset.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/labelled_sequences.h"
#include "common/status_macros.h"

namespace ps {
namespace {

constexpr int64_t kStepsMultiple = 32;

class SpeechDataset final : public Dataset, public LabelledSequences {
 public:
  SpeechDataset(std::unique_ptr<Recordings> recordings,
                const SpeechFeatures& features, absl::string_view alphabet,
                std::vector<std::vector<int32_t>> labels)
      : recordings_(std::move(recordings)),
        features_(features),
        alphabet_(alphabet),
        labels_(std::move(labels)) {}

  ExampleShape example_shape() const override {
    ExampleShape shape;
    shape.task = Task::kSpeech;
    shape.features = features_.num_features();
    shape.num_classes = static_cast<int64_t>(alphabet_.size());
    shape.alphabet = alphabet_;
    return shape;
  }

  int64_t size() const override { return recordings_->size(); }

  const LabelledSequences* sequences() const override { return this; }

  std::string name(int64_t number) const override {
    return recordings_->name(number);
  }

  std::optional<int64_t> num_steps(int64_t number) const override {
    const std::optional<int64_t> samples = recordings_->num_samples(number);
    if (!samples.has_value()) return std::nullopt;
    return features_.NumFrames(*samples);
  }

  absl::Span<const int32_t> labels(int64_t number) const override {
    return labels_[number];
  }

  absl::Status Read(absl::Span<const int64_t> numbers, int64_t /*epoch*/,
                    Batch* batch) const override {
    for (const int64_t number : numbers) {
      if (number < 0 || number >= size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("recording ", number, " of ", size()));
      }
    }
    std::vector<std::vector<int16_t>> samples;
    int64_t longest = 0;
    for (const int64_t number : numbers) {
      PS_ASSIGN_OR_RETURN(std::vector<int16_t> read,
                          recordings_->Samples(number));
      longest = std::max(longest, features_.NumFrames(read.size()));
      samples.push_back(std::move(read));
    }
    const int64_t rows = static_cast<int64_t>(numbers.size());
    batch->steps =
        (longest + kStepsMultiple - 1) / kStepsMultiple * kStepsMultiple;
    batch->inputs.assign(batch->steps * rows * features_.num_features(), 0);
    batch->input_lengths.resize(rows);
    batch->label_lengths.resize(rows);
    batch->labels.clear();
    for (int64_t row = 0; row < rows; ++row) {
      ReadFrames(samples[row], row, batch);
      const std::vector<int32_t>& labels = labels_[numbers[row]];
      batch->label_lengths[row] = static_cast<int32_t>(labels.size());
      batch->labels.insert(batch->labels.end(), labels.begin(), labels.end());
    }
    return absl::OkStatus();
  }

 private:
  void ReadFrames(const std::vector<int16_t>& samples, int64_t row,
                  Batch* batch) const {
    const int64_t width = features_.num_features();
    const int64_t rows = static_cast<int64_t>(batch->input_lengths.size());
    const int64_t num_frames = features_.NumFrames(samples.size());
    std::vector<float> frames(num_frames * width);
    features_.Compute(samples, frames.data());
    for (int64_t t = 0; t < num_frames; ++t) {
      std::copy_n(&frames[t * width], width,
                  &batch->inputs[(t * rows + row) * width]);
    }
    batch->input_lengths[row] = static_cast<int32_t>(num_frames);
  }

  const std::unique_ptr<Recordings> recordings_;
  const SpeechFeatures features_;
  const std::string alphabet_;
  const std::vector<std::vector<int32_t>> labels_;  // Per transcript.
};

}  // namespace

std::string SpeechAlphabet(const std::vector<const Recordings*>& sets) {
  std::string characters = " 'ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (const Recordings* const set : sets) {
    for (int64_t i = 0; i < set->size(); ++i) characters += set->transcript(i);
  }
  // Compares unsigned bytes: those above 127 are negative if char is signed.
  std::sort(characters.begin(), characters.end(), [](char a, char b) {
    return static_cast<uint8_t>(a) < static_cast<uint8_t>(b);
  });
  characters.erase(std::unique(characters.begin(), characters.end()),
                   characters.end());
  return "_" + characters;
}

absl::StatusOr<std::unique_ptr<Dataset>> NewSpeechDataset(
    std::unique_ptr<Recordings> recordings, const SpeechFeatures& features,
    absl::string_view alphabet) {
  std::vector<std::vector<int32_t>> labels(recordings->size());
  for (int64_t i = 0; i < recordings->size(); ++i) {
    for (const char character : recordings->transcript(i)) {
      // Class 0 is the blank, so the search starts at 1.
      const size_t label = alphabet.find(character, 1);
      if (label == absl::string_view::npos) {
        return absl::DataLossError(absl::StrCat(
            "transcript \"", recordings->transcript(i), "\" has the character ",
            "\"", absl::CHexEscape(absl::string_view(&character, 1)),
            "\", which no training transcript has"));
      }
      labels[i].push_back(static_cast<int32_t>(label));
    }
  }
  return std::make_unique<SpeechDataset>(std::move(recordings), features,
                                         alphabet, std::move(labels));
}

}  // namespace ps
