// Pictures of what a model sees.
#ifndef TOOLS_INFLUENCE_PICTURE_H_
#define TOOLS_INFLUENCE_PICTURE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/batch.h"

namespace ps {

// A PNG file of each image of the batch, [channels, height, width] each: in
// colour with three channels, and otherwise the first channel in grey. The
// smallest value of a channel in the whole batch is black, and the largest is
// the channel's full brightness.
absl::StatusOr<std::vector<std::string>> MakePictures(
    const Batch& batch, const ExampleShape& example);

}  // namespace ps

#endif  // TOOLS_INFLUENCE_PICTURE_H_
