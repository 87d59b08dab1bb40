// Numbers the words of a text.
#ifndef DATA_VOCABULARY_H_
#define DATA_VOCABULARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

// The words of a text, which are separated by white space, with kEndOfSentence
// at the end of each line (the last line may lack its line feed).
class Vocabulary {
 public:
  static constexpr char kEndOfSentence[] = "<eos>";
  static constexpr char kUnknown[] = "<unk>";

  // Collects the words of `text`, most frequent first; words of equal frequency
  // are in order of first occurrence.
  static Vocabulary Of(absl::string_view text);

  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  const std::string& word(int64_t number) const { return words_[number]; }
  const std::vector<std::string>& words() const { return words_; }

  // Returns the numbers of the words of `text`. A word that is not in the
  // vocabulary counts as kUnknown, if the vocabulary has it. Errors: otherwise
  // kDataLoss, naming line and word.
  absl::StatusOr<std::vector<int32_t>> Numbers(absl::string_view text) const;

 private:
  std::vector<std::string> words_;
  absl::flat_hash_map<std::string, int32_t> numbers_;
};

}  // namespace ps

#endif  // DATA_VOCABULARY_H_
