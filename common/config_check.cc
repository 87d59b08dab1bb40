#include "common/config_check.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ps {
namespace {

// This is a function-local static, so that it exists before any other file's
// static initialiser uses it.
std::vector<ConfigCheck>& MutableConfigChecks() {
  static std::vector<ConfigCheck>* const checks = new std::vector<ConfigCheck>;
  return *checks;
}

}  // namespace

void ConfigProblems::Add(const std::string& field, const std::string& value,
                         const std::string& rule) {
  lines_.push_back(absl::StrCat(field, " is ", value, "; ", rule));
  fields_.push_back(field);
}

absl::Status ConfigProblems::ToStatus() const {
  if (lines_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(lines_, "; "));
}

bool RegisterConfigCheck(ConfigCheck check) {
  MutableConfigChecks().push_back(check);
  return true;
}

const std::vector<ConfigCheck>& ConfigChecks() { return MutableConfigChecks(); }

}  // namespace ps
