// Rounds to the nearest of 127 levels up to the largest magnitude of each
// bucket, with the sign as the eighth bit. Slightly biased; does not need error
// feedback.
#include "compressors/value_codes/level_codec.h"
#include "compressors/value_codes/level_stream.h"

namespace ps {
namespace {

LevelCodeTraits Traits() {
  LevelCodeTraits traits;
  traits.name = "int8_block";
  traits.number = ValueCode::kInt8Block;
  traits.nearest = true;
  traits.bits = kMaxLevelBits;
  return traits;
}

REGISTER_VALUE_CODEC(
    int8_block,
    "8 bits: the nearest of 255 levels up to the largest magnitude of a block",
    NewLevelCodec(Traits()));

}  // namespace
}  // namespace ps
