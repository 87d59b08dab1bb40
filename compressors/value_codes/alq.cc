// ALQ: levels fitted to the values, times the Euclidean norm of each bucket.
// Faghri et al., "Adaptive gradient quantization for data-parallel SGD",
// NeurIPS 2020; fitted_levels.h has the fit. Unbiased for any levels.
//
// The paper fits levels every few thousand steps, from statistics that the
// workers exchange, and all workers use the same levels until then. Here every
// payload has its own levels, fitted to at most 16384 of its values and sent
// with it in 4 x (2^(bits - 1) - 2) bytes. So there is nothing to exchange or
// to keep in a checkpoint, and levels are never out of date. A level code sends
// a scale for each bucket in any case, so servers decode before they sum either
// way.
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

REGISTER_VALUE_CODEC(alq, "a few levels fitted to the values, at random",
                     NewLevelCodec(Traits()));

}  // namespace
}  // namespace ps
