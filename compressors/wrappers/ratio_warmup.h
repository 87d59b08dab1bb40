// Higher ratios while training begins, when gradients change fast and the
// network suffers most from late ones (Lin, Han, Mao, Wang, Dally, "Deep
// Gradient Compression", ICLR 2018, section 3.3).
#ifndef COMPRESSORS_WRAPPERS_RATIO_WARMUP_H_
#define COMPRESSORS_WRAPPERS_RATIO_WARMUP_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "compressors/compressor.h"

namespace ps {

// The ratio of iteration 0, 1, ...; `config` has a sound warmup.
double WarmupRatio(const CompressorConfig& config, int64_t iteration);

// Makes its inner compressors with `factory`, one for each ratio, each with
// draws of its own. Iterations whose gradient is not finite are not counted.
// State: the iteration, and what the inner compressor keeps. Errors: those of
// `factory`, then and whenever the ratio changes.
absl::StatusOr<std::unique_ptr<Compressor>> NewRatioWarmup(
    const CompressorOptions& options, CompressorFactory factory);

}  // namespace ps

#endif  // COMPRESSORS_WRAPPERS_RATIO_WARMUP_H_
