// Lists the files of a folder of images, by class.
#ifndef DATA_IMAGE_LIST_H_
#define DATA_IMAGE_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ps {

struct ImageFile {
  std::string path;
  int32_t label = 0;  // Number of the image's class.
};

// The classes are the folders in `folder`, in order of their names. Errors:
// those of ListFolder; kNotFound if there is no class.
absl::StatusOr<std::vector<std::string>> ListClasses(const std::string& folder);

// Returns all files folder/CLASS/*.jpg, .jpeg or .png (also in capitals), by
// class and then by name. Reads the beginning of each file to check its format.
// Errors: kNotFound if a class has no image, or if `folder` contains a folder
// that is not in `classes`; kDataLoss if a file is neither JPEG nor PNG.
absl::StatusOr<std::vector<ImageFile>> ListImages(
    const std::string& folder, const std::vector<std::string>& classes);

}  // namespace ps

#endif  // DATA_IMAGE_LIST_H_
