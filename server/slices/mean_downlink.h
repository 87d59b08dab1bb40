// A downlink that sends the mean of the workers' pushes, coded or compressed.
//
// What an answer leaves out, or rounds away, stays in a residual and is part of
// a later one. A value code without a compressor sends the elements that
// workers pushed, and the rounding error of an element comes when it is pushed
// again.
#ifndef SERVER_SLICES_MEAN_DOWNLINK_H_
#define SERVER_SLICES_MEAN_DOWNLINK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/slices/downlink.h"

namespace ps {

// Creates the downlink of a slice whose weights are means. Errors: those of
// NewCompressor.
absl::StatusOr<std::unique_ptr<Downlink>> NewMeanDownlink(
    const CompressorConfig& config, const SliceOptions& options);

}  // namespace ps

#endif  // SERVER_SLICES_MEAN_DOWNLINK_H_
