// Visits ascending indices as gaps, the numbers of positions skipped before
// each.
#ifndef COMPRESSORS_INDEX_CODES_GAPS_H_
#define COMPRESSORS_INDEX_CODES_GAPS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "compressors/index_codes/index_codec.h"

namespace ps {

// Calls visit(skipped) for each index, in order. No gap depends on the one
// before it, so that a visit that adds something up becomes vector
// instructions.
template <typename Visit>
void ForEachGap(const IndexList& list, Visit visit) {
  const absl::Span<const uint32_t> indices = list.indices;
  if (indices.empty()) return;
  visit(indices[0] - list.begin);
  for (size_t i = 1; i < indices.size(); ++i) {
    visit(indices[i] - indices[i - 1] - 1);
  }
}

}  // namespace ps

#endif  // COMPRESSORS_INDEX_CODES_GAPS_H_
