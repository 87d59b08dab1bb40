// Adds less than the residual to each gradient: a share beta of it, keeping the
// rest, which is a low-pass filter on what is sent late, for noisy gradients
// (Chen et al., "ScaleCom", NeurIPS 2020, section 3.2); and forgets all of it
// but a share delta, so that what is sent late is not too old (Sarfi et al.,
// "SparseLoCo", arXiv 2508.15706, section 3).
//
// With gradient g and residual e, element by element:
//     u = beta delta e + g;    e <- delta e + g - sent
// where the inner compressor chooses what is sent from u. ScaleCom keeps m =
// beta e: its update m <- (1 - beta) m + beta (u - sent) is the same.
#ifndef COMPRESSORS_WRAPPERS_PARTIAL_FEEDBACK_H_
#define COMPRESSORS_WRAPPERS_PARTIAL_FEEDBACK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "compressors/compressor.h"

namespace ps {

// Creates the wrapper. beta: config.feedback_share; delta:
// config.feedback_decay. The invariant of compressors holds, for delta e and up
// to rounding. Costs two passes and one vector. State:
// that of `inner`. Errors: kResourceExhausted.
absl::StatusOr<std::unique_ptr<Compressor>> NewPartialFeedback(
    const CompressorOptions& options, std::unique_ptr<Compressor> inner);

}  // namespace ps

#endif  // COMPRESSORS_WRAPPERS_PARTIAL_FEEDBACK_H_
