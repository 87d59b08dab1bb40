// Reads a job file, applies overrides, checks everything.
#ifndef COMMON_CONFIG_H_
#define COMMON_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace ps {

// Parses text format. Errors: kInvalidArgument with `name`, line and column of
// the first problem; an unknown field is one, with the nearest that there is.
absl::StatusOr<JobConfig> ParseConfig(absl::string_view text,
                                      absl::string_view name);

// The same for what stands between the braces of `compressor { ... }`.
absl::StatusOr<CompressorConfig> ParseCompressorConfig(absl::string_view text,
                                                       absl::string_view name);

// ParseConfig from a file. Errors: also kNotFound and others of ReadFile.
absl::StatusOr<JobConfig> LoadConfig(const std::string& path);

// Sets one field from "path=value", as in "compressor.ratio=0.001". Repeated
// fields take a comma-separated list and are replaced. Strings need no quotes.
// On an error *config is as it was. Errors: kInvalidArgument naming the part of
// the path that is unknown and the fields that there are, or the value and the
// type it should have.
absl::Status ApplyOverride(absl::string_view assignment, JobConfig* config);

// Every rule of config.proto, and the checks of all linked-in plug-ins.
// Errors: kInvalidArgument with one line per problem: field path, value, rule.
absl::Status ValidateConfig(const JobConfig& config);

// What a program does with its command line: LoadConfig, ApplyOverride with
// each of `overrides`, ValidateConfig. Errors: theirs; those of the last begin
// with the path.
absl::StatusOr<JobConfig> LoadJob(const std::string& path,
                                  const std::vector<std::string>& overrides);

// Text with every field written out, defaults included: parsing it gives the
// same job whatever the defaults become.
std::string ResolvedConfigText(const JobConfig& config);

// The part that all processes of a job must agree on, as text: everything
// without `machine`, `cluster.servers` and `data.directory`.
std::string SharedConfigText(const JobConfig& config);

// "field: theirs there and ours here" for every field in which two
// SharedConfigTexts differ; one line about it if one of them does not parse;
// empty if they are equal.
std::vector<std::string> DescribeConfigDifferences(const std::string& ours,
                                                   const std::string& theirs);

}  // namespace ps

#endif  // COMMON_CONFIG_H_
