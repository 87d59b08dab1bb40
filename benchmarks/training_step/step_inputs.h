// Provides the inputs of each timed model: shapes and a random batch.
#ifndef BENCHMARKS_TRAINING_STEP_STEP_INPUTS_H_
#define BENCHMARKS_TRAINING_STEP_STEP_INPUTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/batch.h"

namespace ps {

// Returns the shape. Errors: kInvalidArgument for an unknown model.
absl::StatusOr<ExampleShape> StepExample(absl::string_view model);

// Returns a rate at which the loss of one batch falls from the first steps.
float StepSize(absl::string_view model);

// Returns the same batch on every call.
Batch StepBatch(const ExampleShape& example, int64_t size);

}  // namespace ps

#endif  // BENCHMARKS_TRAINING_STEP_STEP_INPUTS_H_
