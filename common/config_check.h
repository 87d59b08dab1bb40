// Checks of a job that need more knowledge than `common` has.
//
// A library that registers plug-ins (compressors, models, data sets,
// optimizers) also registers a check of its part of the config, so that
// ValidateConfig reports an unknown name or a bad option together with all
// other problems.
#ifndef COMMON_CONFIG_CHECK_H_
#define COMMON_CONFIG_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ps {

class JobConfig;

// Collects every problem of a config.
class ConfigProblems {
 public:
  // `rule` completes the sentence: Add("compressor.ratio", "1.5", "must be in
  // (0, 1]") reads "compressor.ratio is 1.5; must be in (0, 1]".
  void Add(const std::string& field, const std::string& value,
           const std::string& rule);
  // Adds a value for which the rule does not hold.
  template <typename Value>
  void CheckThat(bool holds, const std::string& field, const Value& value,
                 const std::string& rule) {
    if (!holds) Add(field, absl::StrCat(value), rule);
  }

  // Returns kInvalidArgument with all lines, separated by "; ", or OK.
  absl::Status ToStatus() const;

  const std::vector<std::string>& lines() const { return lines_; }
  // The field of each line.
  const std::vector<std::string>& fields() const { return fields_; }

 private:
  std::vector<std::string> lines_;
  std::vector<std::string> fields_;
};

using ConfigCheck = void (*)(const JobConfig& config, ConfigProblems* problems);

// Adds a check; static initialisers call it. Always returns true.
bool RegisterConfigCheck(ConfigCheck check);

// Returns all registered checks, in order of registration.
const std::vector<ConfigCheck>& ConfigChecks();

}  // namespace ps

#endif  // COMMON_CONFIG_CHECK_H_
