// Philox4x32-10, a counter-based random number generator: Salmon, Moraes, Dror,
// Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. A pure function
// of key and counter, with the same result on every device.
#ifndef COMPRESSORS_VALUE_CODES_PHILOX_H_
#define COMPRESSORS_VALUE_CODES_PHILOX_H_

#include <array>
#include <cstdint>

#include "absl/types/span.h"

namespace ps {

std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key);

// Uniform draws in [0, 1), one per element of a vector.
class UniformDraws {
 public:
  explicit UniformDraws(uint64_t key)
      : key_{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)} {}

  // Writes the draws of elements begin, begin + 1, ...; begin must be a
  // multiple of 4. Element i uses the upper 24 bits of word i mod 4 for counter
  // i / 4.
  void Fill(int64_t begin, absl::Span<float> draws) const;

 private:
  std::array<uint32_t, 2> key_;
};

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_PHILOX_H_
