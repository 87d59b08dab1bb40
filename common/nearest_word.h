// Suggests the known word that an unknown one was meant to be.
#ifndef COMMON_NEAREST_WORD_H_
#define COMMON_NEAREST_WORD_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ps {

// Returns the word of `known` that `word` most likely stands for: it may have
// other capitals, be its beginning ("int8" for "int8_block"), its initials
// ("lr" for "learning_rate"), one of its parts ("rate"), a word with the same
// beginning ("imagenet" for "image_folder"), or a misspelling, by edit
// distance. Empty if none is near. Words with different first letters are
// misspellings only if a single letter differs.
std::string NearestWord(absl::string_view word,
                        const std::vector<std::string>& known);

// Returns "; did you mean \"NEAREST\"?", or nothing.
std::string DidYouMean(absl::string_view word,
                       const std::vector<std::string>& known);

// Returns the rule for a word that is not in `known`: "must be one of A, B; did
// you mean \"B\"?".
std::string MustBeOneOf(absl::string_view word,
                        const std::vector<std::string>& known);

}  // namespace ps

#endif  // COMMON_NEAREST_WORD_H_
