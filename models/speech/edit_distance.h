// Computes the edit distance of two sequences.
#ifndef MODELS_SPEECH_EDIT_DISTANCE_H_
#define MODELS_SPEECH_EDIT_DISTANCE_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/types/span.h"

namespace ps {

// Returns the minimum number of insertions, deletions and substitutions of
// single elements that turn `a` into `b` (Levenshtein, "Binary codes capable of
// correcting deletions, insertions, and reversals", Soviet Physics Doklady
// 1966). Takes time a.size() x b.size(), computing row by row (Wagner, Fischer,
// "The string-to-string correction problem", J. ACM 1974).
template <typename T>
int64_t EditDistance(absl::Span<const T> a, absl::Span<const T> b) {
  // row[j] is the distance of the first i elements of a to the first j of b.
  std::vector<int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    int64_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const int64_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace ps

#endif  // MODELS_SPEECH_EDIT_DISTANCE_H_
