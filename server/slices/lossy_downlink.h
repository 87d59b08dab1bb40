// A downlink that leaves something out: what a compressor does not select, or
// what a value code rounds away. It is part of a later answer.
//
// Of weights, the server keeps the *view*, the weights that all workers hold.
// After each update it sends weights - view, and adds what was sent to the view
// in the same order of operations as the workers: this is error feedback
// without a separate residual and without drift. Of means (downlink.mode MEAN),
// which workers do not hold, it keeps a residual. A value code without a
// compressor sends the elements that workers pushed, and the rounding error of
// an element comes when it is pushed again.
#ifndef SERVER_SLICES_LOSSY_DOWNLINK_H_
#define SERVER_SLICES_LOSSY_DOWNLINK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/slices/downlink.h"

namespace ps {

// Creates the downlink of a mode other than AUTO. Without a compressor, UPDATE
// and MEAN send what was pushed in a value code. `weights` are the initial
// ones; means do not use them. Errors: those of NewCompressor.
absl::StatusOr<std::unique_ptr<Downlink>> NewLossyDownlink(
    const DownlinkConfig& config, const SliceOptions& options,
    const PayloadBuffer& weights);

}  // namespace ps

#endif  // SERVER_SLICES_LOSSY_DOWNLINK_H_
