// Limits the norm of the gradient. Each worker clips before it accumulates
// anything: the sum of N gradients with independent noise is sqrt(N) times as
// long as one of them (Lin, Han, Mao, Wang, Dally, "Deep Gradient Compression",
// ICLR 2018, section 3.3 and appendix C).
#ifndef COMPRESSORS_WRAPPERS_GRADIENT_CLIPPING_H_
#define COMPRESSORS_WRAPPERS_GRADIENT_CLIPPING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "compressors/compressor.h"

namespace ps {

// Passes the gradient to `inner`, scaled to Euclidean norm clip_norm /
// sqrt(num_workers) if it is longer. This takes one more pass over the
// gradient; scaling takes a second pass and memory for one vector. The
// invariant of compressors holds for the scaled gradient. Errors:
// kResourceExhausted.
absl::StatusOr<std::unique_ptr<Compressor>> NewGradientClipping(
    const CompressorOptions& options, std::unique_ptr<Compressor> inner);

}  // namespace ps

#endif  // COMPRESSORS_WRAPPERS_GRADIENT_CLIPPING_H_
