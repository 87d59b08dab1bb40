#include "data/config_rules.h"

#include "absl/strings/str_cat.h"

namespace ps {
namespace {

template <typename T>
void RequireRangeOf(const std::string& field, T value, T low, T high,
                    ConfigProblems* problems) {
  // This form of the condition reports NaN too.
  if (value >= low && value <= high) return;
  problems->Add(absl::StrCat("data.", field), absl::StrCat(value),
                absl::StrCat("must be in [", low, ", ", high, "]"));
}

}  // namespace

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

void RequireRange(const std::string& field, int64_t value, int64_t low,
                  int64_t high, ConfigProblems* problems) {
  RequireRangeOf(field, value, low, high, problems);
}

void RequireRange(const std::string& field, double value, double low,
                  double high, ConfigProblems* problems) {
  RequireRangeOf(field, value, low, high, problems);
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
