// Checks rules that the configs of several data sets share.
#ifndef DATA_CONFIG_RULES_H_
#define DATA_CONFIG_RULES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/config_check.h"
#include "proto/config.pb.h"

namespace ps {

// The maximum number of examples of a generated set.
constexpr int64_t kMaxGeneratedExamples = 10'000'000;

// Requires data.directory if the job's data set is `name`. `files` describes
// the contents of the directory: "the IDX files". `generated` is a data set
// that needs no files and has examples of the same kind, or empty.
void RequireDirectory(const JobConfig& config, const std::string& name,
                      const std::string& files, const std::string& generated,
                      ConfigProblems* problems);

// Requires `value` to be in [low, high]; NaN is never in the range. `field` is
// given without "data.".
void RequireRange(const std::string& field, int64_t value, int64_t low,
                  int64_t high, ConfigProblems* problems);
void RequireRange(const std::string& field, double value, double low,
                  double high, ConfigProblems* problems);

// Returns the first problem that `check` finds, as kInvalidArgument, for
// callers that did not validate the whole job.
absl::Status FirstProblem(const DataConfig& config, ConfigCheck check);

}  // namespace ps

#endif  // DATA_CONFIG_RULES_H_
