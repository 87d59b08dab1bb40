// The images that a command line names.
#ifndef TOOLS_EVALUATE_INPUT_FILES_H_
#define TOOLS_EVALUATE_INPUT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ps {

// Each input is a file or a folder, in which all .jpg, .jpeg and .png files are
// taken, at any depth, in order of their paths. Errors: kNotFound for an input
// that does not exist, or a folder without images; kDataLoss for a file that is
// neither JPEG nor PNG.
absl::StatusOr<std::vector<std::string>> FindImageFiles(
    const std::vector<std::string>& inputs);

}  // namespace ps

#endif  // TOOLS_EVALUATE_INPUT_FILES_H_
