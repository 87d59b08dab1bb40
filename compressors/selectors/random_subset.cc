#include "compressors/selectors/random_subset.h"

#include "glog/logging.h"

namespace ps {

std::vector<uint32_t> DrawSubset(int64_t n, int64_t k, RandomStream* random) {
  CHECK_LE(k, n);
  // Draws either the chosen numbers or the others, whichever are fewer, so that
  // at least half of the draws are new.
  const bool complement = k > n / 2;
  std::vector<uint64_t> marked((n + 63) / 64, 0);
  for (int64_t missing = complement ? n - k : k; missing > 0;) {
    const uint64_t i = random->Below(static_cast<uint64_t>(n));
    uint64_t& word = marked[i / 64];
    const uint64_t bit = uint64_t{1} << i % 64;
    if ((word & bit) != 0) continue;
    word |= bit;
    --missing;
  }
  std::vector<uint32_t> subset;
  subset.reserve(k);
  for (int64_t begin = 0; begin < n; begin += 64) {
    uint64_t word = marked[begin / 64];
    if (complement) {
      word = ~word;
      if (n - begin < 64) word &= (uint64_t{1} << (n - begin)) - 1;
    }
    for (; word != 0; word &= word - 1) {
      subset.push_back(static_cast<uint32_t>(begin + __builtin_ctzll(word)));
    }
  }
  return subset;
}

}  // namespace ps
