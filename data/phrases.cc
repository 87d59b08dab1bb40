// Implements the data sets "phrases" and "phrase_characters": a generated text,
// as words and as bytes, so that a language model can be tried without any
// file.

#include <string>

#include "common/random.h"
#include "data/byte_alphabet.h"
#include "data/dataset.h"
#include "data/phrase_text.h"
#include "data/text_config.h"
#include "data/text_pair.h"
#include "data/vocabulary.h"

namespace ps {
namespace {

// The purpose separates these draws from all others with the same seed.
constexpr uint64_t kPhrasesPurpose = 0x70687261736573;  // "phrases"

// This many sentences contain every word of the grammar: the rarest words occur
// in one of 40 sentences.
constexpr int64_t kSentencesForAll = 2000;

// The split is a part of the key of every sentence. A test sentence may equal a
// training sentence by chance, since there are only about 10^5.
enum Split : uint64_t { kTrain = 0, kTest = 1 };

std::string Draw(uint64_t seed, Split split, int64_t count) {
  return DrawSentences(
      RandomKey(seed, kPhrasesPurpose, static_cast<uint64_t>(split)), count);
}

absl::StatusOr<DatasetPair> NewPair(const DatasetOptions& options, Task task) {
  const PhrasesConfig& config = options.config.phrases();
  const std::string train =
      Draw(options.seed, kTrain, config.train_sentences());
  const std::string test = Draw(options.seed, kTest, config.test_sentences());
  const int64_t steps = StepsOf(options.config.text(), task);
  const NamedText train_text = {"data.phrases.train_sentences", train};
  const NamedText test_text = {"data.phrases.test_sentences", test};
  // This gives the same numbers for every seed and any number of sentences.
  const std::string every_word = DrawSentences(/*key=*/0, kSentencesForAll);
  if (task == Task::kWords) {
    return NewWordPair(Vocabulary::Of(every_word), train_text, test_text,
                       steps);
  }
  return NewCharacterPair(ByteAlphabet(every_word), train_text, test_text,
                          steps);
}

absl::StatusOr<DatasetPair> NewPhrases(const DatasetOptions& options) {
  return NewPair(options, Task::kWords);
}

absl::StatusOr<DatasetPair> NewPhraseCharacters(const DatasetOptions& options) {
  return NewPair(options, Task::kCharacters);
}

REGISTER_DATASET("phrases", "generated text, word by word; needs no files",
                 NewPhrases);
REGISTER_DATASET("phrase_characters",
                 "generated text, character by character; needs no files",
                 NewPhraseCharacters);

}  // namespace
}  // namespace ps
