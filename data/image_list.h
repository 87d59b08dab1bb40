// Finds the files of a folder of images by class.
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
  int32_t label = 0;  // Number of its class.
};

// The classes are the folders in `folder`, in order of their names. Errors: as
// of ListFolder; kNotFound if there is no class.
absl::StatusOr<std::vector<std::string>> ListClasses(const std::string& folder);

// Every file folder/CLASS/*.jpg, .jpeg or .png (in capitals too), class by
// class, by name. Looks into each for what it is. Errors: kNotFound if a class
// has no image, or `folder` a folder that is none of `classes`; kDataLoss if a
// file is neither JPEG nor PNG.
absl::StatusOr<std::vector<ImageFile>> ListImages(
    const std::string& folder, const std::vector<std::string>& classes);

}  // namespace ps

#endif  // DATA_IMAGE_LIST_H_
