// Implements codes that round each value to one of a few levels between 0 and a
// scale that consecutive values share.
//
//     values := bits u8, layout u8, zero u16, bucket_size u32,
//               levels f32 (fitted levels only: those between 0 and 1,
//               ascending), scales f32 (one per bucket_size values; the last
//               bucket may be shorter), the levels of the values (see
//               level_stream.h for the layouts)
//
// The decoded value is scale x level, both floats, rounded to float.
#ifndef COMPRESSORS_VALUE_CODES_LEVEL_CODEC_H_
#define COMPRESSORS_VALUE_CODES_LEVEL_CODEC_H_

#include "compressors/value_codes/level_rounding.h"
#include "compressors/value_codes/value_codec.h"

namespace ps {

struct LevelCodeTraits {
  absl::string_view name;
  ValueCode number;
  LevelScale scale = LevelScale::kLargestMagnitude;
  LevelSpacing spacing = LevelSpacing::kUniform;
  bool nearest = false;  // Rounds to the nearest level instead of at random.
  int bits = 0;          // 0 means the config's; otherwise the layout is fixed.
};

// Creates a codec, which the caller owns.
const ValueCodec* NewLevelCodec(const LevelCodeTraits& traits);

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_LEVEL_CODEC_H_
