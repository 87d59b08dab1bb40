// The tensors of a file of weights that a model does not take from it.
#ifndef MODELS_IGNORED_TENSORS_H_
#define MODELS_IGNORED_TENSORS_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace ps {

// Whether a pattern matches the name: "*" stands for any characters and "?" for
// one, as in fnmatch(3).
bool IsIgnored(const std::string& name,
               const std::vector<std::string>& patterns);

// Errors: kInvalidArgument, with all names, if a pattern matches none of them.
absl::Status CheckPatterns(const std::vector<std::string>& patterns,
                           const std::set<std::string>& names);

// Patterns that match all of `bad` and nothing else of `names`, which includes
// them: "fc.*" for a module of which all tensors are bad.
std::vector<std::string> PatternsFor(const std::set<std::string>& bad,
                                     const std::set<std::string>& names);

}  // namespace ps

#endif  // MODELS_IGNORED_TENSORS_H_
