// Checks rules that the configs of several data sets share.
#ifndef DATA_CONFIG_RULES_H_
#define DATA_CONFIG_RULES_H_

#include <string>

#include "absl/status/status.h"
#include "common/config_check.h"
#include "proto/config.pb.h"

namespace ps {

// Requires data.directory if the job's data set is `name`. `files` describes
// the contents of the directory: "the IDX files". `generated` is a data set
// that needs no files and has examples of the same kind, or empty.
void RequireDirectory(const JobConfig& config, const std::string& name,
                      const std::string& files, const std::string& generated,
                      ConfigProblems* problems);

// Returns the first problem that `check` finds, as kInvalidArgument, for
// callers that did not validate the whole job.
absl::Status FirstProblem(const DataConfig& config, ConfigCheck check);

}  // namespace ps

#endif  // DATA_CONFIG_RULES_H_
