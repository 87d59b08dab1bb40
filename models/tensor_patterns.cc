#include "models/tensor_patterns.h"

#include <fnmatch.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ps {
namespace {

bool Matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

// Returns "fc." for "fc.weight"; empty for a name without a module.
std::string ModuleOf(const std::string& name) {
  return name.substr(0, name.rfind('.') + 1);
}

}  // namespace

bool MatchesAny(const std::string& name,
                const std::vector<std::string>& patterns) {
  return std::any_of(
      patterns.begin(), patterns.end(),
      [&](const std::string& pattern) { return Matches(pattern, name); });
}

absl::Status CheckPatterns(absl::string_view field,
                           const std::vector<std::string>& patterns,
                           absl::string_view where,
                           const std::set<std::string>& names) {
  for (const std::string& pattern : patterns) {
    const bool matches = std::any_of(
        names.begin(), names.end(),
        [&](const std::string& name) { return Matches(pattern, name); });
    if (matches) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        field, " has \"", pattern, "\", which matches no tensor of ", where,
        "; their names are ", absl::StrJoin(names, ", ")));
  }
  return absl::OkStatus();
}

std::vector<std::string> PatternsFor(const std::set<std::string>& bad,
                                     const std::set<std::string>& names) {
  std::set<std::string> patterns;
  for (const std::string& name : bad) {
    const std::string module = ModuleOf(name);
    const bool whole =
        !module.empty() &&
        std::all_of(names.begin(), names.end(), [&](const std::string& other) {
          return !absl::StartsWith(other, module) || bad.count(other) > 0;
        });
    patterns.insert(whole ? module + "*" : name);
  }
  return {patterns.begin(), patterns.end()};
}

}  // namespace ps
