// A set of indices that is filled in any order and read in ascending order, in
// work proportional to what it holds.
#ifndef SERVER_SLICES_TOUCHED_SET_H_
#define SERVER_SLICES_TOUCHED_SET_H_

#include <cstdint>
#include <vector>

namespace ps {

// A bit for each index, and a bit for each word of those. Only the latter are
// ever scanned, 1 for 4096 indices. Not thread-safe.
class TouchedSet {
 public:
  // Indices below num_elements come next. Nothing may be left inside.
  void Reset(int64_t num_elements);

  void Add(uint32_t index) {
    const uint32_t word = index / kBits;
    touched_[word] |= uint64_t{1} << (index % kBits);
    words_[word / kBits] |= uint64_t{1} << (word % kBits);
  }

  // Replaces *indices by the ascending indices of what was added. Leaves
  // nothing inside.
  void Take(std::vector<uint32_t>* indices);

 private:
  static constexpr int64_t kBits = 64;

  std::vector<uint64_t> touched_;  // Bit i: index i is inside.
  std::vector<uint64_t> words_;    // Bit w: touched_[w] is not 0.
};

}  // namespace ps

#endif  // SERVER_SLICES_TOUCHED_SET_H_
