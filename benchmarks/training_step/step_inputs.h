// What each timed model is fed: shapes and a random batch.
#ifndef BENCHMARKS_TRAINING_STEP_STEP_INPUTS_H_
#define BENCHMARKS_TRAINING_STEP_STEP_INPUTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/batch.h"

namespace ps {

// Errors: kInvalidArgument for a model that has no line in the list.
absl::StatusOr<ExampleShape> StepExample(absl::string_view model);

// Learning rate with which one batch's loss falls from the first steps on.
float StepSize(absl::string_view model);

// Always the same.
Batch StepBatch(const ExampleShape& example, int64_t size);

}  // namespace ps

#endif  // BENCHMARKS_TRAINING_STEP_STEP_INPUTS_H_
