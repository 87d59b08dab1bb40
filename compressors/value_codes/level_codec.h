// Codes that round to a few levels between 0 and a scale, which consecutive
// values share.
//
//     values := bits u8, zero u8, zero u16, bucket_size u32,
//               scales f32 (one for each bucket_size values, also for the last
//               ones), codes of so many bits
//     code   := level, and in the highest bit 1 for a negative value
//
// The decoded value is scale x level value, both floats, rounded to float.
#ifndef COMPRESSORS_VALUE_CODES_LEVEL_CODEC_H_
#define COMPRESSORS_VALUE_CODES_LEVEL_CODEC_H_

#include <memory>

#include "compressors/value_codes/value_codec.h"

namespace ps {

enum class LevelScale { kEuclideanNorm, kLargestMagnitude };
enum class LevelSpacing { kUniform, kExponential };
enum class LevelRounding { kAtRandom, kNearest };

constexpr int kMinLevelBits = 2;
constexpr int kMaxLevelBits = 8;

struct LevelCodeTraits {
  absl::string_view name;
  ValueCode number;
  LevelScale scale = LevelScale::kLargestMagnitude;
  LevelSpacing spacing = LevelSpacing::kUniform;
  LevelRounding rounding = LevelRounding::kAtRandom;
  int bits = 0;  // 0: what the config says.
};

// The caller owns the codec.
const ValueCodec* NewLevelCodec(const LevelCodeTraits& traits);

// Levels that are not 0.
constexpr int NumLevels(int bits) { return (1 << (bits - 1)) - 1; }

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_LEVEL_CODEC_H_
