// Checks the requirements of image architectures on a data set.
#ifndef MODELS_ZOO_IMAGE_TASK_H_
#define MODELS_ZOO_IMAGE_TASK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "common/batch.h"

namespace ps {

// Errors: kInvalidArgument unless the examples are images of at least
// `min_extent` pixels in both directions.
absl::Status CheckImageTask(const ExampleShape& example, int64_t min_extent);

}  // namespace ps

#endif  // MODELS_ZOO_IMAGE_TASK_H_
