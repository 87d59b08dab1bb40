#include "data/config_rules.h"

#include "absl/strings/str_cat.h"

namespace ps {
void RequireDirectory(const JobConfig& config, const std::string& name,
                      const std::string& files, const std::string& generated,
                      ConfigProblems* problems) {
  if (config.data().name() != name || !config.data().directory().empty()) {
    return;
  }
  problems->Add(
      "data.directory", "empty",
      absl::StrCat("must name the folder with ", files, " of \"", name,
                   "\" (docs/own_data.md): --set data.directory=DIR",
                   generated.empty()
                       ? ""
                       : ". To try the job on generated data: --set "
                         "data.name=",
                   generated));
}

absl::Status FirstProblem(const DataConfig& config, ConfigCheck check) {
  JobConfig job;
  *job.mutable_data() = config;
  ConfigProblems problems;
  check(job, &problems);
  if (problems.lines().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(problems.lines().front());
}

}  // namespace ps
