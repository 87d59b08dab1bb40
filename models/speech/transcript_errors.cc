#include "models/speech/transcript_errors.h"

#include <vector>

#include "models/speech/edit_distance.h"

namespace ps {
namespace {

using Word = absl::Span<const int32_t>;

std::vector<Word> Words(absl::Span<const int32_t> text, int32_t space) {
  std::vector<Word> words;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != space) continue;
    if (i > begin) words.push_back(text.subspan(begin, i - begin));
    begin = i + 1;
  }
  return words;
}

}  // namespace

TranscriptErrors CompareTranscripts(absl::Span<const int32_t> heard,
                                    absl::Span<const int32_t> transcript,
                                    int32_t space) {
  const std::vector<Word> heard_words = Words(heard, space);
  const std::vector<Word> words = Words(transcript, space);
  TranscriptErrors errors;
  errors.character_errors = EditDistance(heard, transcript);
  errors.characters = static_cast<int64_t>(transcript.size());
  errors.word_errors = EditDistance<Word>(heard_words, words);
  errors.words = static_cast<int64_t>(words.size());
  return errors;
}

}  // namespace ps
