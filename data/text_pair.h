// Creates data sets from a training text and a test text.
#ifndef DATA_TEXT_PAIR_H_
#define DATA_TEXT_PAIR_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/byte_alphabet.h"
#include "data/dataset.h"
#include "data/vocabulary.h"

namespace ps {

// A text, and its name in errors.
struct NamedText {
  std::string name;
  absl::string_view text;
};

// Creates a pair of data sets of words. Errors: those of Vocabulary::Numbers
// and NewTokenWindows, prefixed with the text's name.
absl::StatusOr<DatasetPair> NewWordPair(const Vocabulary& vocabulary,
                                        const NamedText& train,
                                        const NamedText& test, int64_t steps);

// Creates a pair of data sets of bytes, which must all be in `alphabet`.
// Errors: those of NewTokenWindows, prefixed with the text's name.
absl::StatusOr<DatasetPair> NewCharacterPair(const ByteAlphabet& alphabet,
                                             const NamedText& train,
                                             const NamedText& test,
                                             int64_t steps);

}  // namespace ps

#endif  // DATA_TEXT_PAIR_H_
