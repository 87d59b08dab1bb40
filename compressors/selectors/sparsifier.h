// A compressor made of three parts: a selector, a value code and an index code.
#ifndef COMPRESSORS_SELECTORS_SPARSIFIER_H_
#define COMPRESSORS_SELECTORS_SPARSIFIER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "compressors/compressor.h"
#include "compressors/selectors/selector.h"

namespace ps {

// Reads everything but the selector from `options`, which NewCompressor has
// checked. Errors: kResourceExhausted for the scratch vector.
absl::StatusOr<std::unique_ptr<Compressor>> NewSparsifier(
    const CompressorOptions& options, std::unique_ptr<Selector> selector);

}  // namespace ps

#endif  // COMPRESSORS_SELECTORS_SPARSIFIER_H_
