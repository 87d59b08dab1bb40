// The compressor "scalecom", for others that select positions as it does.
#ifndef COMPRESSORS_SCALECOM_SCALECOM_H_
#define COMPRESSORS_SCALECOM_SCALECOM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "compressors/compressor.h"

namespace ps {

// Creates the compressor from config.scalecom. Errors: kInvalidArgument for its
// fields; those of NewSparsifier.
absl::StatusOr<std::unique_ptr<Compressor>> NewScaleCom(
    const CompressorOptions& options);

}  // namespace ps

#endif  // COMPRESSORS_SCALECOM_SCALECOM_H_
