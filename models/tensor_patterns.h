// Matches names of tensors with patterns: for tensors of a weight file that a
// model skips, and for layers with a learning rate of their own.
#ifndef MODELS_TENSOR_PATTERNS_H_
#define MODELS_TENSOR_PATTERNS_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ps {

// Whether a pattern matches the name: "*" stands for any characters and "?" for
// one, as in fnmatch(3).
bool MatchesAny(const std::string& name,
                const std::vector<std::string>& patterns);

// Checks patterns of a field. Errors: kInvalidArgument, with all names, if one
// of them matches none of the names, which are those of tensors of `where`.
absl::Status CheckPatterns(absl::string_view field,
                           const std::vector<std::string>& patterns,
                           absl::string_view where,
                           const std::set<std::string>& names);

// Returns patterns that match all of `bad` and nothing else of `names`, which
// includes them: "fc.*" for a module of which all tensors are bad.
std::vector<std::string> PatternsFor(const std::set<std::string>& bad,
                                     const std::set<std::string>& names);

}  // namespace ps

#endif  // MODELS_TENSOR_PATTERNS_H_
