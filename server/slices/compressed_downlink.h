// A way back that any compressor makes short.
//
// The server keeps the *view*, the weights that all workers hold. After each
// update it compresses weights - view; what it sends it also adds to the view,
// as the workers do, in the same order of operations. What a compressor leaves
// out is so part of the next difference: error feedback without a residual of
// its own, and without drift.
#ifndef SERVER_SLICES_COMPRESSED_DOWNLINK_H_
#define SERVER_SLICES_COMPRESSED_DOWNLINK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/slices/downlink.h"

namespace ps {

// Of downlink.compressor. Errors: as of NewCompressor.
absl::StatusOr<std::unique_ptr<Downlink>> NewCompressedDownlink(
    const SliceOptions& options, const PayloadBuffer& weights);

}  // namespace ps

#endif  // SERVER_SLICES_COMPRESSED_DOWNLINK_H_
