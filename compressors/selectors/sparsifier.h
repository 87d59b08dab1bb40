// Composes a compressor of a selector, a value code and an index code.
#ifndef COMPRESSORS_SELECTORS_SPARSIFIER_H_
#define COMPRESSORS_SELECTORS_SPARSIFIER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "compressors/compressor.h"
#include "compressors/selectors/selector.h"

namespace ps {

// Creates the compressor around a selector. `options` must have passed
// NewCompressor's checks. Errors: kResourceExhausted for the scratch vector.
absl::StatusOr<std::unique_ptr<Compressor>> NewSparsifier(
    const CompressorOptions& options, std::unique_ptr<Selector> selector);

}  // namespace ps

#endif  // COMPRESSORS_SELECTORS_SPARSIFIER_H_
