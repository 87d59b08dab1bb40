// The names of the classes that a model tells apart.
#ifndef TOOLS_EVALUATE_CLASS_NAMES_H_
#define TOOLS_EVALUATE_CLASS_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "tools/evaluate/evaluated_job.h"

namespace ps {

// One name on each line, in order of the classes' numbers. Errors: those of
// ReadFile; kDataLoss for an empty name, or no name at all.
absl::StatusOr<std::vector<std::string>> ReadClassNames(
    const std::string& path);

// The names in the file that the command line names or, without one, in
// classes.txt beside the weights, which a run writes. Empty if there is none.
absl::StatusOr<std::vector<std::string>> KnownClassNames(
    const EvaluatedJob& job);

// The same; without these, the names that the data set gives to its classes,
// or their numbers. Errors: kInvalidArgument unless there is a name for each of
// the data set's classes, or if classes.txt and the data have other names.
absl::StatusOr<std::vector<std::string>> ClassNamesOf(const EvaluatedJob& job,
                                                      const Dataset& dataset);

}  // namespace ps

#endif  // TOOLS_EVALUATE_CLASS_NAMES_H_
