// QSGD: uniform levels up to the Euclidean norm of each bucket. Alistarh,
// Grubic, Li, Tomioka, Vojnovic, "QSGD: communication-efficient SGD via
// gradient quantization and encoding", NIPS 2017. Unbiased; with d values per
// bucket and s levels the relative variance is at most min(d / s^2, sqrt(d) /
// s).
#include "compressors/value_codes/level_codec.h"

namespace ps {
namespace {

LevelCodeTraits Traits() {
  LevelCodeTraits traits;
  traits.name = "qsgd";
  traits.number = ValueCode::kQsgd;
  traits.scale = LevelScale::kEuclideanNorm;
  return traits;
}

REGISTER_VALUE_CODEC(qsgd, "a few levels up to the norm, at random",
                     NewLevelCodec(Traits()));

}  // namespace
}  // namespace ps
