// Words and their numbers.
#ifndef DATA_VOCABULARY_H_
#define DATA_VOCABULARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

// The words of a text: what white space separates, and kEndOfSentence at the
// end of each line (the last one may lack its line feed).
class Vocabulary {
 public:
  static constexpr char kEndOfSentence[] = "<eos>";
  static constexpr char kUnknown[] = "<unk>";

  // The words of `text` from the most frequent on; of two that are as frequent,
  // the one that comes first in the text.
  static Vocabulary Of(absl::string_view text);

  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  const std::string& word(int64_t number) const { return words_[number]; }

  // The words of `text` as numbers. One that is not in the vocabulary counts as
  // kUnknown, if the vocabulary has that. Errors: else kDataLoss, naming line
  // and word.
  absl::StatusOr<std::vector<int32_t>> Numbers(absl::string_view text) const;

 private:
  std::vector<std::string> words_;
  absl::flat_hash_map<std::string, int32_t> numbers_;
};

}  // namespace ps

#endif  // DATA_VOCABULARY_H_
