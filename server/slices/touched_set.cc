#include "server/slices/touched_set.h"

#include <cstddef>

namespace ps {
namespace {

int64_t Words(int64_t bits) { return (bits + 63) / 64; }

}  // namespace

void TouchedSet::Reset(int64_t num_elements) {
  // The arrays only grow; the existing words are 0.
  const size_t words = Words(num_elements);
  if (words <= touched_.size()) return;
  touched_.resize(words);
  words_.resize(Words(touched_.size()));
}

}  // namespace ps
