// Philox4x32-10 for host and device: Salmon, Moraes, Dror, Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", SC 2011.
#ifndef COMPRESSORS_VALUE_CODES_PHILOX_WORDS_H_
#define COMPRESSORS_VALUE_CODES_PHILOX_WORDS_H_

#include <cstdint>

#include "common/host_device.h"

namespace ps {

// The constants are those of the paper's table 2 and section 4.
constexpr int kPhiloxRounds = 10;
constexpr uint32_t kPhiloxMultiplier0 = 0xd2511f53;
constexpr uint32_t kPhiloxMultiplier1 = 0xcd9e8d57;
constexpr uint32_t kPhiloxKeyStep0 = 0x9e3779b9;
constexpr uint32_t kPhiloxKeyStep1 = 0xbb67ae85;

struct PhiloxWords {
  uint32_t words[4];
};

PS_HOST_DEVICE inline PhiloxWords PhiloxRounds(PhiloxWords counter,
                                               uint32_t key0, uint32_t key1) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t product0 = uint64_t{kPhiloxMultiplier0} * counter.words[0];
    const uint64_t product1 = uint64_t{kPhiloxMultiplier1} * counter.words[2];
    counter = {{static_cast<uint32_t>(product1 >> 32) ^ counter.words[1] ^ key0,
                static_cast<uint32_t>(product1),
                static_cast<uint32_t>(product0 >> 32) ^ counter.words[3] ^ key1,
                static_cast<uint32_t>(product0)}};
    key0 += kPhiloxKeyStep0;
    key1 += kPhiloxKeyStep1;
  }
  return counter;
}

// Converts a word to a draw in [0, 1), by its upper 24 bits.
PS_HOST_DEVICE inline float DrawOfWord(uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}

// Computes the draws of UniformDraws (philox.h) for one thread; cheapest in
// ascending order.
class DrawSequence {
 public:
  PS_HOST_DEVICE explicit DrawSequence(uint64_t key) : key_(key) {}

  // Returns the draw of element i, which is at least 0.
  PS_HOST_DEVICE float At(int64_t i) {
    if (i / 4 != counter_) {
      counter_ = i / 4;
      const uint64_t c = static_cast<uint64_t>(counter_);
      words_ = PhiloxRounds(
          {{static_cast<uint32_t>(c), static_cast<uint32_t>(c >> 32), 0, 0}},
          static_cast<uint32_t>(key_), static_cast<uint32_t>(key_ >> 32));
    }
    return DrawOfWord(words_.words[i % 4]);
  }

 private:
  const uint64_t key_;
  int64_t counter_ = -1;  // The counter of words_.
  PhiloxWords words_ = {};
};

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_PHILOX_WORDS_H_
