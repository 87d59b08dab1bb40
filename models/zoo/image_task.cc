#include "models/zoo/image_task.h"

#include "absl/strings/str_cat.h"

namespace ps {

absl::Status CheckImageTask(const ExampleShape& example, int64_t min_extent) {
  if (example.task != Task::kImages) {
    return absl::InvalidArgumentError("needs a data set of images");
  }
  if (example.height < min_extent || example.width < min_extent) {
    return absl::InvalidArgumentError(
        absl::StrCat("images of ", example.height, " x ", example.width,
                     "; must be at least ", min_extent, " x ", min_extent));
  }
  return absl::OkStatus();
}

}  // namespace ps
