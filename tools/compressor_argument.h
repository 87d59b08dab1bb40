// A compressor's config from the command line.
#ifndef TOOLS_COMPRESSOR_ARGUMENT_H_
#define TOOLS_COMPRESSOR_ARGUMENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/compressor_config.pb.h"

namespace ps {

// `argument` is the path of a .textproto file of a CompressorConfig, or such
// text itself: 'name: "topk" ratio: 0.01'. A file of that name goes first.
// Errors: kInvalidArgument or what ReadFile reports; for a config that makes no
// sense every problem of it.
absl::StatusOr<CompressorConfig> CompressorFromArgument(
    const std::string& argument);

// Whether the compressor does its work only where it knows what tensors a
// vector is made of, as in a job.
bool NeedsTensorShapes(const std::string& compressor);

// For a vector of unknown shape. Errors: kInvalidArgument with one line for
// each problem: field, value, rule.
absl::Status ValidateCompressorConfig(const CompressorConfig& config);

}  // namespace ps

#endif  // TOOLS_COMPRESSOR_ARGUMENT_H_
