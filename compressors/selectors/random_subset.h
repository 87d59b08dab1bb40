// Draws a random subset.
#ifndef COMPRESSORS_SELECTORS_RANDOM_SUBSET_H_
#define COMPRESSORS_SELECTORS_RANDOM_SUBSET_H_

#include <cstdint>
#include <vector>

#include "common/random.h"

namespace ps {

// Draws k of the numbers 0 .. n - 1 without replacement, in ascending order;
// every set of k is equally likely. k: at most n. n: below 2^32. Time is
// proportional to k + n / 64.
std::vector<uint32_t> DrawSubset(int64_t n, int64_t k, RandomStream* random);

}  // namespace ps

#endif  // COMPRESSORS_SELECTORS_RANDOM_SUBSET_H_
