// NUQSGD: levels 0, 2^-s, ..., 1/2, 1 times the Euclidean norm of each bucket,
// with s + 1 = 2^(bits - 1) - 1. Ramezani-Kebrya et al., "NUQSGD: provably
// communication-efficient data-parallel SGD via nonuniform quantization", JMLR
// 2021. Unbiased, with the worst case of "qsgd" with 2^s levels; suited to
// heavy tails.
#include "compressors/value_codes/level_codec.h"

namespace ps {
namespace {

LevelCodeTraits Traits() {
  LevelCodeTraits traits;
  traits.name = "nuqsgd";
  traits.number = ValueCode::kNuqsgd;
  traits.scale = LevelScale::kEuclideanNorm;
  traits.spacing = LevelSpacing::kExponential;
  return traits;
}

REGISTER_VALUE_CODEC(nuqsgd,
                     "levels of powers of two up to the norm, at random",
                     NewLevelCodec(Traits()));

}  // namespace
}  // namespace ps
