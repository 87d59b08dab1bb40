// A compressor's config from the command line.
#ifndef TOOLS_COMMAND_LINE_COMPRESSOR_ARGUMENT_H_
#define TOOLS_COMMAND_LINE_COMPRESSOR_ARGUMENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/compressor_config.pb.h"

namespace ps {

// `argument` is the path of a .textproto file with a CompressorConfig, or such
// text itself: 'name: "topk" ratio: 0.01'. If a file of that name exists, it is
// read. Errors: kInvalidArgument, which lists every problem of an invalid
// config, or those of ReadFile.
absl::StatusOr<CompressorConfig> CompressorFromArgument(
    const std::string& argument);

// Whether the compressor must know which tensors a vector consists of, as it
// does in a job.
bool NeedsTensorShapes(const std::string& compressor);

// Checks a config for a vector of unknown shape. Errors: kInvalidArgument with
// one line for each problem: field, value, rule.
absl::Status ValidateCompressorConfig(const CompressorConfig& config);

}  // namespace ps

#endif  // TOOLS_COMMAND_LINE_COMPRESSOR_ARGUMENT_H_
