// A training and a test text as data sets.
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

// A text, and what it is called in errors.
struct NamedText {
  std::string name;
  absl::string_view text;
};

// Words. Errors: those of Vocabulary::Numbers and NewTokenWindows, after the
// text's name.
absl::StatusOr<DatasetPair> NewWordPair(const Vocabulary& vocabulary,
                                        const NamedText& train,
                                        const NamedText& test, int64_t steps);

// Bytes, all of which `alphabet` has. Errors: those of NewTokenWindows, after
// the text's name.
absl::StatusOr<DatasetPair> NewCharacterPair(const ByteAlphabet& alphabet,
                                             const NamedText& train,
                                             const NamedText& test,
                                             int64_t steps);

}  // namespace ps

#endif  // DATA_TEXT_PAIR_H_
