#include "common/nearest_word.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace ps {
namespace {

// Returns the number of insertions, deletions, substitutions and swaps of
// neighbours that turn `a` into `b` (optimal string alignment: Damerau, CACM
// 1964, with each letter touched once).
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1,
                                        std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const size_t substitution = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                             cost[i - 1][j - 1] + substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

// Whether `word` abbreviates `candidate`.
bool IsShortFor(absl::string_view word, absl::string_view candidate) {
  if (word.size() < 2) return false;
  if (absl::StartsWith(candidate, word)) return true;
  const std::vector<absl::string_view> parts =
      absl::StrSplit(candidate, absl::ByAnyChar("_-"), absl::SkipEmpty());
  std::string initials;
  for (const absl::string_view part : parts) {
    if (part == word && word.size() > 2) return true;
    initials += part.front();
  }
  return initials == word;
}

// Whether two words have a common prefix too long to be an accident.
bool BeginAlike(absl::string_view a, absl::string_view b) {
  constexpr size_t kLetters = 5;
  return a.size() < 2 * kLetters && b.size() >= kLetters &&
         absl::StartsWith(a, b.substr(0, kLetters));
}

}  // namespace

std::string NearestWord(absl::string_view word,
                        const std::vector<std::string>& known) {
  const std::string typed = absl::AsciiStrToLower(word);
  // A third of the letters may be wrong, one in any case: beyond that a
  // suggestion is a guess.
  const size_t most = std::max<size_t>(1, typed.size() / 3);
  std::string nearest;
  size_t least = most + 2;
  for (const std::string& candidate : known) {
    const std::string other = absl::AsciiStrToLower(candidate);
    size_t distance = most + 2;
    if (other == typed) {
      distance = 0;
    } else if (IsShortFor(typed, other)) {
      distance = 1;
    } else if (std::max(typed.size(), other.size()) -
                   std::min(typed.size(), other.size()) <=
               most) {
      distance = EditDistance(typed, other);
      // People rarely mistake the first letter: "export" is not a "report".
      // Nor is "gelu" a "relu".
      const bool other_word =
          distance > 1 || (typed.size() == other.size() && typed.size() <= 4);
      if (other_word && typed.substr(0, 1) != other.substr(0, 1)) continue;
      if (distance > most) distance = most + 2;
    }
    if (distance > most && BeginAlike(typed, other)) distance = most + 1;
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string DidYouMean(absl::string_view word,
                       const std::vector<std::string>& known) {
  const std::string nearest = NearestWord(word, known);
  if (nearest.empty()) return "";
  return absl::StrCat("; did you mean \"", nearest, "\"?");
}

std::string MustBeOneOf(absl::string_view word,
                        const std::vector<std::string>& known) {
  return absl::StrCat("must be one of ", absl::StrJoin(known, ", "),
                      DidYouMean(word, known));
}

}  // namespace ps
