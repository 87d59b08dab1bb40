#include "data/vocabulary.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace ps {
namespace {

// Calls visit(line, word) for every word, where lines count from 1. Stops when
// `visit` returns false.
void ForEachWord(absl::string_view text,
                 absl::FunctionRef<bool(int64_t, absl::string_view)> visit) {
  for (int64_t line = 1; !text.empty(); ++line) {
    const size_t length = std::min(text.find('\n'), text.size());
    absl::string_view rest = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    for (;;) {
      rest = absl::StripLeadingAsciiWhitespace(rest);
      if (rest.empty()) break;
      size_t end = 0;
      while (end < rest.size() && !absl::ascii_isspace(rest[end])) ++end;
      if (!visit(line, rest.substr(0, end))) return;
      rest.remove_prefix(end);
    }
    if (!visit(line, Vocabulary::kEndOfSentence)) return;
  }
}

struct CountedWord {
  absl::string_view word;
  int64_t count = 0;
};

}  // namespace

constexpr char Vocabulary::kEndOfSentence[];
constexpr char Vocabulary::kUnknown[];

Vocabulary Vocabulary::Of(absl::string_view text) {
  std::vector<CountedWord> counted;  // In order of first occurrence.
  absl::flat_hash_map<absl::string_view, size_t> places;
  ForEachWord(text, [&](int64_t, absl::string_view word) {
    const auto place = places.emplace(word, counted.size());
    if (place.second) counted.push_back({word, 0});
    ++counted[place.first->second].count;
    return true;
  });
  std::stable_sort(counted.begin(), counted.end(),
                   [](const CountedWord& a, const CountedWord& b) {
                     return a.count > b.count;
                   });
  Vocabulary vocabulary;
  for (const CountedWord& entry : counted) {
    vocabulary.numbers_.emplace(entry.word, vocabulary.words_.size());
    vocabulary.words_.emplace_back(entry.word);
  }
  return vocabulary;
}

absl::StatusOr<std::vector<int32_t>> Vocabulary::Numbers(
    absl::string_view text) const {
  const auto unknown = numbers_.find(kUnknown);
  std::vector<int32_t> numbers;
  absl::Status status;
  ForEachWord(text, [&](int64_t line, absl::string_view word) {
    auto found = numbers_.find(word);
    if (found == numbers_.end()) found = unknown;
    if (found == numbers_.end()) {
      status = absl::DataLossError(absl::StrCat(
          "line ", line, ": the word \"", word, "\" is not in the training ",
          "text, and neither is ", kUnknown, "; write ", kUnknown,
          " for rare words in both (docs/own_data.md has a command)"));
      return false;
    }
    numbers.push_back(found->second);
    return true;
  });
  if (!status.ok()) return status;
  return numbers;
}

}  // namespace ps
