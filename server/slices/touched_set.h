// A set of indices that is filled in any order and read in ascending order, in
// time proportional to its size.
#ifndef SERVER_SLICES_TOUCHED_SET_H_
#define SERVER_SLICES_TOUCHED_SET_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ps {

// The set. Holds a bit for each index, and a summary bit for each 64-bit word
// of those. Take scans all summary words, one for 4096 indices, but only those
// index words that are not 0. Not thread-safe.
class TouchedSet {
 public:
  // Prepares for indices below num_elements. The set must be empty.
  void Reset(int64_t num_elements);

  void Add(uint32_t index) {
    const uint32_t word = index / kBits;
    touched_[word] |= uint64_t{1} << (index % kBits);
    words_[word / kBits] |= uint64_t{1} << (word % kBits);
  }

  // Calls visit(index) for the indices that were added, in ascending order, and
  // empties the set.
  template <typename Visit>
  void Take(const Visit& visit) {
    for (size_t w = 0; w < words_.size(); ++w) {
      ForEachBit(words_[w], w * kBits, [&](int64_t word) {
        ForEachBit(touched_[word], word * kBits,
                   [&](int64_t index) { visit(static_cast<uint32_t>(index)); });
        touched_[word] = 0;
      });
      words_[w] = 0;
    }
  }

 private:
  static constexpr int64_t kBits = 64;

  // Calls visit(i) for every bit i of `word`, ascending, counted from `base`.
  template <typename Visit>
  static void ForEachBit(uint64_t word, int64_t base, const Visit& visit) {
    for (; word != 0; word &= word - 1) visit(base + __builtin_ctzll(word));
  }

  std::vector<uint64_t> touched_;  // Bit i says whether index i is in the set.
  std::vector<uint64_t> words_;    // Bit w says whether touched_[w] is not 0.
};

}  // namespace ps

#endif  // SERVER_SLICES_TOUCHED_SET_H_
