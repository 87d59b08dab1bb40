// "auto": for each bucket and iteration, either sends the whole bucket in bf16
// or lets another compressor decide, as the worker's measurements indicate
// (chooser.h).
#ifndef COMPRESSORS_AUTOMATIC_AUTOMATIC_H_
#define COMPRESSORS_AUTOMATIC_AUTOMATIC_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "compressors/compressor.h"

namespace ps {

// Creates the compressor of a config that names "auto". `compressed` tells
// which buckets are compressed now, [bucket]; the others are sent whole. It is
// not owned, must outlive the compressor, and may change only between calls of
// Compress. The "auto" that NewCompressor creates always compresses. Errors:
// those of NewCompressor.
absl::StatusOr<std::unique_ptr<Compressor>> NewAutomaticCompressor(
    const CompressorOptions& options, const std::vector<bool>* compressed);

}  // namespace ps

#endif  // COMPRESSORS_AUTOMATIC_AUTOMATIC_H_
