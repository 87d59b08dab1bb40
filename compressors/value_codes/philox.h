// Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011. A pure function of key and counter, and the same on
// every device.
#ifndef COMPRESSORS_VALUE_CODES_PHILOX_H_
#define COMPRESSORS_VALUE_CODES_PHILOX_H_

#include <array>
#include <cstdint>

#include "absl/types/span.h"

namespace ps {

std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key);

// Uniform draws in [0, 1), one for each element of a vector.
class UniformDraws {
 public:
  explicit UniformDraws(uint64_t key)
      : key_{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)} {}

  // The draws of elements begin, begin + 1, ...; begin is a multiple of 4.
  // Element i takes the upper 24 bits of word i mod 4 of counter i / 4.
  void Fill(int64_t begin, absl::Span<float> draws) const;

 private:
  std::array<uint32_t, 2> key_;
};

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_PHILOX_H_
