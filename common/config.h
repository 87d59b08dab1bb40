// Reads a job file, applies overrides to it and validates the result.
#ifndef COMMON_CONFIG_H_
#define COMMON_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/config_check.h"
#include "proto/config.pb.h"

namespace ps {

// Parses text format. Errors: kInvalidArgument with a line for each problem of
// the text (common/config_text.h), with `name`, line and column.
absl::StatusOr<JobConfig> ParseConfig(absl::string_view text,
                                      absl::string_view name);

// Like ParseConfig, for the text between the braces of `compressor { ... }`.
absl::StatusOr<CompressorConfig> ParseCompressorConfig(absl::string_view text,
                                                       absl::string_view name);

// Like ParseConfig, for a file. Errors: also those of ReadFile.
absl::StatusOr<JobConfig> LoadConfig(const std::string& path);

// Sets one field from "path=value", as in "compressor.ratio=0.001". Repeated
// fields take a comma-separated list and are replaced. Strings need no quotes.
// On an error *config is unchanged. Errors: kInvalidArgument, which names the
// unknown part of the path and the known fields, or the value and the type that
// it should have.
absl::Status ApplyOverride(absl::string_view assignment, JobConfig* config);

// Checks the rules of all fields, and runs the checks of all linked-in
// plug-ins.
ConfigProblems FindProblems(const JobConfig& config);

// Does the same. Errors: kInvalidArgument with one line per problem: field
// path, value, rule.
absl::Status ValidateConfig(const JobConfig& config);

// Loads the job that a command line describes: LoadConfig, then ApplyOverride
// with each of `overrides`, then ValidateConfig. Errors: those of ReadFile;
// kInvalidArgument with the path and below it all problems of the text, of
// overrides and of values, a line each, with the place where a field was set.
absl::StatusOr<JobConfig> LoadJob(const std::string& path,
                                  const std::vector<std::string>& overrides);

// Does the rest of LoadJob with a given config; `path` names it in errors.
absl::StatusOr<JobConfig> WithOverrides(
    JobConfig config, const std::vector<std::string>& overrides,
    const std::string& path);

// Returns text with every field written out, defaults included, so that parsing
// it gives the same job even if the defaults change later.
std::string ResolvedConfigText(const JobConfig& config);

// Returns as text the part of the config that all processes of a job must agree
// on: everything except `machine`, `cluster.servers`, `data.directory`,
// `checkpoint.directory` and `security.directory`.
std::string SharedConfigText(const JobConfig& config);

// Returns a line "field: theirs there and ours here" for every field in which
// two SharedConfigTexts differ; without `values` only "field". If one of them
// does not parse, a single line says so. Empty if they are equal.
std::vector<std::string> DescribeConfigDifferences(const std::string& ours,
                                                   const std::string& theirs,
                                                   bool values = true);

}  // namespace ps

#endif  // COMMON_CONFIG_H_
