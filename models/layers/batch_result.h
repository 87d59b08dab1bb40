// The result of a pass over one batch.
#ifndef MODELS_LAYERS_BATCH_RESULT_H_
#define MODELS_LAYERS_BATCH_RESULT_H_

#include <cstdint>

namespace ps {

struct BatchResult {
  int64_t examples = 0;
  // The number of items that the loss is the mean over: images, tokens or
  // recordings.
  int64_t targets = 0;
  double loss = 0;  // The loss, with the natural logarithm.
  // The number of targets whose label had the largest output, or one of the
  // five largest. 0 for speech.
  int64_t correct = 0;
  int64_t correct_top5 = 0;
  // For speech, in evaluation: the insertions, deletions and substitutions that
  // turn the recognised text into the transcript, and the transcript's length.
  int64_t character_errors = 0;
  int64_t characters = 0;
  int64_t word_errors = 0;
  int64_t words = 0;
};

}  // namespace ps

#endif  // MODELS_LAYERS_BATCH_RESULT_H_
