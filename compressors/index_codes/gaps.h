// Visits ascending indices as gaps, the numbers of positions skipped before
// each.
#ifndef COMPRESSORS_INDEX_CODES_GAPS_H_
#define COMPRESSORS_INDEX_CODES_GAPS_H_

#include <cstdint>

#include "compressors/index_codes/index_codec.h"

namespace ps {

// Calls visit(skipped) for each index, in order.
template <typename Visit>
void ForEachGap(const IndexList& list, Visit visit) {
  uint32_t next = list.begin;
  for (const uint32_t index : list.indices) {
    visit(index - next);
    next = index + 1;
  }
}

}  // namespace ps

#endif  // COMPRESSORS_INDEX_CODES_GAPS_H_
