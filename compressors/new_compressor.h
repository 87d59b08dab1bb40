// Creates the compressor that a config describes: the named compressor and the
// wrappers that the config puts around it.
#ifndef COMPRESSORS_NEW_COMPRESSOR_H_
#define COMPRESSORS_NEW_COMPRESSOR_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/config_check.h"
#include "compressors/compressor.h"

namespace ps {

// Creates a compressor. The wrappers from the outside in are clip_norm,
// momentum_correction and warmup; inside them is the compressor that
// options.config names. Errors: kInvalidArgument for an unknown name or code,
// codes that are incompatible, a number or size out of range, part_ends that do
// not ascend to dense_size, or tensors that do not fill it; kResourceExhausted
// if memory is short.
absl::StatusOr<std::unique_ptr<Compressor>> NewCompressor(
    const CompressorOptions& options);

// Like the above, with `factory` in place of the one registered by the name.
absl::StatusOr<std::unique_ptr<Compressor>> NewCompressor(
    const CompressorOptions& options, const CompressorFactory& factory);

// Reports wrappers that need error feedback and do not have it; `path` ends in
// a dot or is empty.
void CheckWrappers(const CompressorConfig& config, const std::string& path,
                   ConfigProblems* problems);

}  // namespace ps

#endif  // COMPRESSORS_NEW_COMPRESSOR_H_
