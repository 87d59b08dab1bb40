// Cuts a long text, as token numbers, into consecutive windows.
#ifndef DATA_TOKEN_WINDOWS_H_
#define DATA_TOKEN_WINDOWS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace ps {

struct TokenText {
  Task task = Task::kWords;  // Is kWords or kCharacters.
  int64_t vocabulary_size = 0;
  std::vector<int32_t> tokens;  // Each in [0, vocabulary_size).
  bool for_evaluation = false;  // Otherwise for training.
};

// Creates the data set. Example n is window n: its inputs are `steps` tokens of
// the text, those of window n + 1 follow, and its labels are the tokens that
// follow each input. steps is at least 1.
//
// For evaluation, window 0 begins with the text, and the last one may be
// shorter and must then be read alone: every token but the first is a label
// once.
//
// For training, all windows have `steps` tokens. In even epochs window 0 begins
// with the text, and in odd epochs the last window ends with it, so that the
// tokens that fill no window in one epoch are read in the next.
//
// Errors: kInvalidArgument if the text does not fill one window (for
// evaluation: has no label), or has more than 2^24 distinct tokens.
absl::StatusOr<std::unique_ptr<Dataset>> NewTokenWindows(TokenText text,
                                                         int64_t steps);

}  // namespace ps

#endif  // DATA_TOKEN_WINDOWS_H_
