// What a pass over one batch found.
#ifndef MODELS_BATCH_RESULT_H_
#define MODELS_BATCH_RESULT_H_

#include <cstdint>

namespace ps {

struct BatchResult {
  int64_t examples = 0;
  // What the loss is the mean over: images, tokens or recordings.
  int64_t targets = 0;
  double loss = 0;  // Natural logarithm.
  // Of the targets, where the label had the largest, or one of the five
  // largest outputs. 0 for speech.
  int64_t correct = 0;
  int64_t correct_top5 = 0;
  // Speech, in evaluation: insertions, deletions and substitutions that turn
  // what was heard into the transcript, and the transcript's length.
  int64_t character_errors = 0;
  int64_t characters = 0;
  int64_t word_errors = 0;
  int64_t words = 0;
};

}  // namespace ps

#endif  // MODELS_BATCH_RESULT_H_
