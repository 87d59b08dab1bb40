// The settings that `gradsieve bench network` compares: one job with several
// compressors, or with other values of any fields.
#ifndef TOOLS_BENCH_NETWORK_SETTINGS_H_
#define TOOLS_BENCH_NETWORK_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace ps {

struct NetworkSetting {
  std::string name;  // As it was given.
  JobConfig config;  // Validated.
};

// "none,none:bf16,topk:0.01,dgc:0.01:training.bucket_megabytes=1": settings
// separated by commas. Each is a compressor followed by, in any order, at most
// one ratio (a number), at most one value code (a name), and any number of
// fields as for --set, separated by colons. Everything else is as in `base`. A
// setting may be repeated. Errors: kInvalidArgument with the setting and
// everything that is wrong with it.
absl::StatusOr<std::vector<NetworkSetting>> ParseSettings(
    absl::string_view text, const JobConfig& base);

// Makes the job train for this many iterations, without an evaluation before
// the last one.
void SetIterations(int64_t iterations, JobConfig* config);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_SETTINGS_H_
