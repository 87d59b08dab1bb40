// The command line of `gradsieve bench compressors`.
#ifndef TOOLS_BENCH_COMPRESSORS_OPTIONS_H_
#define TOOLS_BENCH_COMPRESSORS_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/compressor_config.pb.h"

namespace ps {

// "262144,66e6": whole numbers from 1 to 2^32 - 1. Errors: kInvalidArgument
// naming the invalid one.
absl::StatusOr<std::vector<int64_t>> ParseSizes(absl::string_view text);

// "0.1,0.001": numbers in (0, 1]. Errors: those of ParseSizes.
absl::StatusOr<std::vector<double>> ParseRatios(absl::string_view text);

// "topk,sidco_e+qsgdinf": registered compressors, each with an optional value
// code. An empty text selects all compressors that need no shapes of tensors.
// Errors: kInvalidArgument with the nearest known name, or with all known
// names.
absl::StatusOr<std::vector<std::string>> ParseNames(absl::string_view text);

// The config for one result of ParseNames. "threshold" gets the threshold that
// this ratio of a Laplace vector of scale 1 exceeds. Errors: kInvalidArgument
// for an invalid combination.
absl::StatusOr<CompressorConfig> BenchConfig(const std::string& name,
                                             double ratio);

}  // namespace ps

#endif  // TOOLS_BENCH_COMPRESSORS_OPTIONS_H_
