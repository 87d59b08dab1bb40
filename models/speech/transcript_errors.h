// Counts character and word errors.
#ifndef MODELS_SPEECH_TRANSCRIPT_ERRORS_H_
#define MODELS_SPEECH_TRANSCRIPT_ERRORS_H_

#include <cstdint>

#include "absl/types/span.h"

namespace ps {

// The edits that turn the recognised text into the transcript, and the
// transcript's length. An error rate is a quotient of sums over all recordings.
struct TranscriptErrors {
  int64_t character_errors = 0;
  int64_t characters = 0;  // Spaces are characters.
  int64_t word_errors = 0;
  int64_t words = 0;
};

// Compares two sequences of classes of an alphabet in which `space` separates
// words. Several spaces in a row count as one. If `space` is negative, the
// alphabet has none, and everything is one word.
TranscriptErrors CompareTranscripts(absl::Span<const int32_t> heard,
                                    absl::Span<const int32_t> transcript,
                                    int32_t space);

}  // namespace ps

#endif  // MODELS_SPEECH_TRANSCRIPT_ERRORS_H_
