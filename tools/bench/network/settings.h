// What `gradsieve bench network` compares: one job with several compressors, or
// with anything else that a job's fields say.
#ifndef TOOLS_BENCH_NETWORK_SETTINGS_H_
#define TOOLS_BENCH_NETWORK_SETTINGS_H_

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
// with commas between them, each a compressor and then, in any order, at most
// one ratio (a number), at most one value code (a name), and any number of
// fields as --set has them, with colons between them. What a setting does not
// say is as in `base`. A setting may come again.
// Errors: kInvalidArgument with the setting and all that is wrong with it.
absl::StatusOr<std::vector<NetworkSetting>> ParseSettings(
    absl::string_view text, const JobConfig& base);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_SETTINGS_H_
