// Sends at higher ratios while training begins, when gradients change fast and
// late updates do the most harm (Lin, Han, Mao, Wang, Dally, "Deep Gradient
// Compression", ICLR 2018, section 3.3).
#ifndef COMPRESSORS_WRAPPERS_RATIO_WARMUP_H_
#define COMPRESSORS_WRAPPERS_RATIO_WARMUP_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "compressors/compressor.h"

namespace ps {

// Returns the ratio of `iteration`, which counts from 0; `config` must have a
// valid warmup.
double WarmupRatio(const CompressorConfig& config, int64_t iteration);

// Creates the wrapper. It creates its inner compressors with `factory`, one per
// ratio, each with draws of its own. Iterations with a non-finite gradient are
// not counted. State: the iteration and the state of the inner compressor.
// Errors: those of `factory`, here and in Compress whenever the ratio changes.
absl::StatusOr<std::unique_ptr<Compressor>> NewRatioWarmup(
    const CompressorOptions& options, const CompressorFactory& factory);

}  // namespace ps

#endif  // COMPRESSORS_WRAPPERS_RATIO_WARMUP_H_
