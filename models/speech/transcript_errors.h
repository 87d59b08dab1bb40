// Character and word error rates.
#ifndef MODELS_SPEECH_TRANSCRIPT_ERRORS_H_
#define MODELS_SPEECH_TRANSCRIPT_ERRORS_H_

#include <cstdint>

#include "absl/types/span.h"

namespace ps {

// Edits that turn what was heard into the transcript, and the transcript's
// length; the rates are quotients of sums over all recordings.
struct TranscriptErrors {
  int64_t character_errors = 0;
  int64_t characters = 0;  // Spaces are characters.
  int64_t word_errors = 0;
  int64_t words = 0;
};

// Both are classes of an alphabet in which `space` parts words: a word is what
// lies between spaces, so that two in a row are like one. A negative `space`:
// the alphabet has none, and all is one word.
TranscriptErrors CompareTranscripts(absl::Span<const int32_t> heard,
                                    absl::Span<const int32_t> transcript,
                                    int32_t space);

}  // namespace ps

#endif  // MODELS_SPEECH_TRANSCRIPT_ERRORS_H_
