// A set of indices that is filled in any order and read in ascending order, in
// time proportional to its size.
#ifndef SERVER_SLICES_TOUCHED_SET_H_
#define SERVER_SLICES_TOUCHED_SET_H_

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

  // Replaces *indices by the indices that were added, in ascending order, and
  // empties the set.
  void Take(std::vector<uint32_t>* indices);

 private:
  static constexpr int64_t kBits = 64;

  std::vector<uint64_t> touched_;  // Bit i says whether index i is in the set.
  std::vector<uint64_t> words_;    // Bit w says whether touched_[w] is not 0.
};

}  // namespace ps

#endif  // SERVER_SLICES_TOUCHED_SET_H_
