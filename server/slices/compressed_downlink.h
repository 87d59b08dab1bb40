// A downlink that uses any compressor.
//
// The server keeps the *view*, the weights that all workers hold. After each
// update it compresses weights - view, sends the result and adds it to the view
// in the same order of operations as the workers. Elements that the compressor
// does not send are therefore part of the next difference: this is error
// feedback without a separate residual and without drift.
#ifndef SERVER_SLICES_COMPRESSED_DOWNLINK_H_
#define SERVER_SLICES_COMPRESSED_DOWNLINK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "compressors/compressor.h"
#include "server/slices/downlink.h"
#include "tensor/backend.h"

namespace ps {

// Creates the compressor of one slice's downlink. Errors: those of
// NewCompressor.
absl::StatusOr<std::unique_ptr<Compressor>> NewDownlinkCompressor(
    const CompressorConfig& config, const SliceOptions& options,
    Backend* backend);

// Creates the downlink. Errors: those of NewCompressor.
absl::StatusOr<std::unique_ptr<Downlink>> NewCompressedDownlink(
    const CompressorConfig& config, const SliceOptions& options,
    const PayloadBuffer& weights);

}  // namespace ps

#endif  // SERVER_SLICES_COMPRESSED_DOWNLINK_H_
