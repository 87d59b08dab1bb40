// Defines level codes and their layouts in a payload (level_stream.h), for host
// and device.
#ifndef COMPRESSORS_VALUE_CODES_LEVEL_LAYOUTS_H_
#define COMPRESSORS_VALUE_CODES_LEVEL_LAYOUTS_H_

#include <cstdint>

#include "common/host_device.h"
#include "compressors/value_codes/elias_words.h"

namespace ps {

// The layouts' wire numbers, which are never changed or reused.
enum class LevelLayout : uint8_t {
  kFixed = 0,
  kGammaSparse = 1,
  kGammaDense = 2,
  kOmegaSparse = 3,
  kOmegaDense = 4,
};
constexpr uint8_t kLastLevelLayout = 4;

constexpr int kMinLevelBits = 2;
constexpr int kMaxLevelBits = 8;

// Returns the number of levels other than 0.
PS_HOST_DEVICE constexpr int NumLevels(int bits) {
  return (1 << (bits - 1)) - 1;
}

PS_HOST_DEVICE constexpr bool IsOmega(LevelLayout layout) {
  return layout == LevelLayout::kOmegaSparse ||
         layout == LevelLayout::kOmegaDense;
}

PS_HOST_DEVICE constexpr bool IsSparse(LevelLayout layout) {
  return layout == LevelLayout::kGammaSparse ||
         layout == LevelLayout::kOmegaSparse;
}

// Returns which of the two layouts with the given integer code takes fewer
// bits.
PS_HOST_DEVICE constexpr LevelLayout SmallerLayout(bool omega,
                                                   int64_t sparse_bits,
                                                   int64_t dense_bits) {
  if (sparse_bits < dense_bits) {
    return omega ? LevelLayout::kOmegaSparse : LevelLayout::kGammaSparse;
  }
  return omega ? LevelLayout::kOmegaDense : LevelLayout::kGammaDense;
}

// Returns the integer code of k, at least 1.
PS_HOST_DEVICE inline BitString EliasInteger(bool omega, uint32_t k) {
  return omega ? EliasOmega(k) : EliasGamma(k);
}

// Returns the bits that a layout writes for a level code of `bits` bits; a
// negative 0 is invalid. The sparse layout writes this after the gap, for
// levels above 0 only.
PS_HOST_DEVICE inline BitString SparseLevel(bool omega, int bits,
                                            uint32_t code) {
  const uint32_t level = code & static_cast<uint32_t>(NumLevels(bits));
  return Concatenate({code >> (bits - 1), 1}, EliasInteger(omega, level));
}

PS_HOST_DEVICE inline BitString DenseLevel(bool omega, int bits,
                                           uint32_t code) {
  if (code == 0) return EliasInteger(omega, 1);
  const uint32_t level = code & static_cast<uint32_t>(NumLevels(bits));
  return Concatenate(EliasInteger(omega, level + 1), {code >> (bits - 1), 1});
}

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_LEVEL_LAYOUTS_H_
