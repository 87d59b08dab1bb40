// Computes the sizes of index codes, for host and device.
#ifndef COMPRESSORS_INDEX_CODES_INDEX_SIZES_H_
#define COMPRESSORS_INDEX_CODES_INDEX_SIZES_H_

#include <cstdint>

#include "common/host_device.h"
#include "compressors/payload/bits.h"

namespace ps {

// LEB128's number of payload bits per byte, and the bit that announces more
// bytes.
constexpr int kVarintBits = 7;
constexpr uint32_t kVarintMore = 0x80;

PS_HOST_DEVICE inline int VarintBytes(uint32_t x) {
  int bytes = 1;
  for (; x >= kVarintMore; x >>= kVarintBits) ++bytes;
  return bytes;
}

// In Rice's code, one byte with the parameter precedes the code words.
constexpr int kRiceParameterBytes = 1;
constexpr int kMaxRiceParameter = 31;

// Returns the k that minimizes the expected code length if each position is
// taken with probability p: the smallest k with (1 - p)^(2^k) < (sqrt(5) - 1) /
// 2 (Kiely, "Selecting the Golomb parameter in Rice coding", IPN Progress
// Report 42-159, 2004). It takes one division and repeated squaring, which IEEE
// 754 rounds alike everywhere; readers recompute it.
PS_HOST_DEVICE inline int RiceParameter(int64_t count, int64_t dense_size) {
  constexpr double kGoldenRatioLessOne = 0.6180339887498949;
  if (count == 0) return 0;
  // The probability that none of 2^k positions is taken.
  double none_taken =
      static_cast<double>(dense_size - count) / static_cast<double>(dense_size);
  int k = 0;
  while (none_taken >= kGoldenRatioLessOne && k < kMaxRiceParameter) {
    none_taken *= none_taken;
    ++k;
  }
  return k;
}

// The layout of an Elias-Fano code; it follows from the header alone.
struct EliasFanoLayout {
  PS_HOST_DEVICE EliasFanoLayout(int64_t count, int64_t dense_size) {
    if (count == 0) return;
    // floor(log2(dense_size / count)).
    for (int64_t rest = dense_size / count; rest > 1; rest /= 2) ++low_bits;
    max_high = (dense_size - 1) >> low_bits;
    low_bytes = BytesOfBits(count * low_bits);
    high_bytes = BytesOfBits(count + max_high);
  }

  PS_HOST_DEVICE int64_t total_bytes() const { return low_bytes + high_bytes; }

  int low_bits = 0;  // At most 31.
  int64_t max_high = 0;
  int64_t low_bytes = 0;
  int64_t high_bytes = 0;
};

}  // namespace ps

#endif  // COMPRESSORS_INDEX_CODES_INDEX_SIZES_H_
