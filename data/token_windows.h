// A long text, as token numbers, cut into consecutive windows.
#ifndef DATA_TOKEN_WINDOWS_H_
#define DATA_TOKEN_WINDOWS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace ps {

struct TokenText {
  Task task = Task::kWords;  // Or kCharacters.
  int64_t vocabulary_size = 0;
  std::vector<int32_t> tokens;  // Each in [0, vocabulary_size).
};

// Example n is window n: its inputs are tokens [n x steps, (n + 1) x steps) of
// the text, and its labels are the tokens that follow each of them. Tokens that
// do not fill the last window are left out. steps is at least 1. Errors:
// kInvalidArgument if the text does not fill one window, or has more than 2^24
// distinct tokens.
absl::StatusOr<std::unique_ptr<Dataset>> NewTokenWindows(TokenText text,
                                                         int64_t steps);

}  // namespace ps

#endif  // DATA_TOKEN_WINDOWS_H_
