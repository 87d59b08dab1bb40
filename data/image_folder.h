// Implements the data set "image_folder": photographs in one folder per class,
// the usual layout of ImageNet. They are decoded on reading.
#ifndef DATA_IMAGE_FOLDER_H_
#define DATA_IMAGE_FOLDER_H_

#include <cstdint>
#include <memory>

#include "common/batch.h"
#include "data/image_converter.h"
#include "proto/data_config.pb.h"

namespace ps {

// Returns the model's input shape for a photograph, which follows from the
// config alone: the set itself need not exist. config: valid.
ExampleShape PhotographShape(const ImageFolderConfig& config,
                             int64_t num_classes);
std::unique_ptr<ImageConverter> NewPhotographConverter(
    const ImageFolderConfig& config);

}  // namespace ps

#endif  // DATA_IMAGE_FOLDER_H_
