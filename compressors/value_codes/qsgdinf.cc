// QSGD with the largest magnitude of each bucket in place of its norm, as in
// the experiments of Alistarh et al., NIPS 2017, section 5. Unbiased, with far
// less variance than "qsgd" at equal bits.
#include "compressors/value_codes/level_codec.h"

namespace ps {
namespace {

LevelCodeTraits Traits() {
  LevelCodeTraits traits;
  traits.name = "qsgdinf";
  traits.number = ValueCode::kQsgdInf;
  return traits;
}

REGISTER_VALUE_CODEC(qsgdinf,
                     "a few levels up to the largest magnitude, at random",
                     NewLevelCodec(Traits()));

}  // namespace
}  // namespace ps
