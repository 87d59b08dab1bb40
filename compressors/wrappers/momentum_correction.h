// Applies momentum before compression, so that an element that is sent late
// carries the momentum it has gathered (Lin, Han, Mao, Wang, Dally, "Deep
// Gradient Compression", ICLR 2018, equations 7 and 10, and section 3.3).
//
// With gradient g, momentum m, velocity p and residual v, element by element:
//     heavy ball: p <- m p + g;    v <- v + p
//     Nesterov:   p <- m (p + g);  v <- v + p + g
// What the inner compressor sends is subtracted from v. With factor masking, p
// is then set to 0 where something was sent. The paper's Nesterov momentum is p
// / m.
#ifndef COMPRESSORS_WRAPPERS_MOMENTUM_CORRECTION_H_
#define COMPRESSORS_WRAPPERS_MOMENTUM_CORRECTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "compressors/compressor.h"

namespace ps {

// Creates the wrapper. `inner` compresses v. The invariant of compressors holds
// for what is added to v, in place of g. State: p and the state of `inner`.
// Memory: two vectors, three with Nesterov momentum. Errors:
// kResourceExhausted.
absl::StatusOr<std::unique_ptr<Compressor>> NewMomentumCorrection(
    const CompressorOptions& options, std::unique_ptr<Compressor> inner);

}  // namespace ps

#endif  // COMPRESSORS_WRAPPERS_MOMENTUM_CORRECTION_H_
