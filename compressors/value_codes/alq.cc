// ALQ: levels fitted to the values, times the Euclidean norm of each bucket.
// Faghri et al., "Adaptive gradient quantization for data-parallel SGD",
// NeurIPS 2020; fitted_levels.h has the fit. Unbiased, whatever the levels are.
//
// The paper fits levels every few thousand steps, from statistics that the
// workers exchange, and all of them use the same levels until then. Here every
// payload has levels of its own, fitted to at most 16384 of its values and sent
// with it, 4 x (2^(bits - 1) - 2) bytes: nothing to exchange, nothing to keep
// in a checkpoint, and never out of date. A level code sends a scale for each
// bucket anyway, so servers decode before they sum either way.
#include "compressors/value_codes/level_codec.h"

namespace ps {
namespace {

LevelCodeTraits Traits() {
  LevelCodeTraits traits;
  traits.name = "alq";
  traits.number = ValueCode::kAlq;
  traits.scale = LevelScale::kEuclideanNorm;
  traits.spacing = LevelSpacing::kFitted;
  return traits;
}

REGISTER_VALUE_CODEC(alq, NewLevelCodec(Traits()));

}  // namespace
}  // namespace ps
