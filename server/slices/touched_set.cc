#include "server/slices/touched_set.h"

#include <cstddef>

namespace ps {
namespace {

int64_t Words(int64_t bits) { return (bits + 63) / 64; }

// Calls visit(i) for every bit i of `word`, ascending, counted from `base`.
template <typename Visit>
void ForEachBit(uint64_t word, int64_t base, const Visit& visit) {
  for (; word != 0; word &= word - 1) visit(base + __builtin_ctzll(word));
}

}  // namespace

void TouchedSet::Reset(int64_t num_elements) {
  // The arrays only grow; the existing words are 0.
  const size_t words = Words(num_elements);
  if (words <= touched_.size()) return;
  touched_.resize(words);
  words_.resize(Words(touched_.size()));
}

void TouchedSet::Take(std::vector<uint32_t>* indices) {
  indices->clear();
  for (size_t w = 0; w < words_.size(); ++w) {
    ForEachBit(words_[w], w * kBits, [&](int64_t word) {
      ForEachBit(touched_[word], word * kBits, [&](int64_t index) {
        indices->push_back(static_cast<uint32_t>(index));
      });
      touched_[word] = 0;
    });
    words_[w] = 0;
  }
}

}  // namespace ps
