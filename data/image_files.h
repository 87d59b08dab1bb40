// Reads images that belong to no data set, for predictions.
#ifndef DATA_IMAGE_FILES_H_
#define DATA_IMAGE_FILES_H_

#include <memory>
#include <string>
#include <vector>

#include "common/batch.h"
#include "data/dataset.h"
#include "data/image_converter.h"

namespace ps {

// Creates a set of JPEG and PNG files, which become examples of `shape` when
// they are read. Their classes are unknown: all labels are 0. `converter`
// converts to that shape; it is not owned and must outlive the set. Errors of
// Read name the file.
std::unique_ptr<Dataset> NewImageFiles(const std::vector<std::string>& paths,
                                       const ExampleShape& shape,
                                       const ImageConverter* converter,
                                       std::vector<std::string> class_names);

}  // namespace ps

#endif  // DATA_IMAGE_FILES_H_
