// What the reference says of a field of a job (proto/config.proto).
#ifndef TOOLS_EXPLAIN_EXPLAIN_H_
#define TOOLS_EXPLAIN_EXPLAIN_H_

#include <string>

#include "absl/status/statusor.h"

namespace ps {

// Returns several lines: the type of a field such as "training.batch_size", its
// rule, as in "at least 1", its default, and its comment, which gives the unit;
// and the values of an enum. A group such as "training", or the whole job (""),
// has its comment and a line for each field. Indices of lists, as in
// "layer[2]", may be left out. Errors: kInvalidArgument for an unknown field,
// with the nearest one.
absl::StatusOr<std::string> ExplainField(const std::string& path);

}  // namespace ps

#endif  // TOOLS_EXPLAIN_EXPLAIN_H_
