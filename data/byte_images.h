// Labelled images with one byte per value, as data sets keep them in memory: a
// quarter of what floats would take, converted batch by batch.
#ifndef DATA_BYTE_IMAGES_H_
#define DATA_BYTE_IMAGES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/batch.h"
#include "data/dataset.h"

namespace ps {

struct ByteImages {
  ExampleShape shape;
  std::vector<uint8_t> pixels;  // [size, channels, height, width], row-major.
  std::vector<uint8_t> labels;  // [size], each in [0, shape.num_classes).
};

// What Read() makes of a byte p: (p / 255 - mean) / deviation.
struct PixelScale {
  double mean = 0;
  double deviation = 1;
};

// The scale under which these pixels have mean 0 and standard deviation 1. The
// sums are of whole numbers, so that the result is the same everywhere. The
// deviation of pixels that are all the same counts as 1.
PixelScale MeasurePixels(absl::Span<const uint8_t> pixels);

// `images` has a label for each image. Use the training set's scale for the
// test set too: a model must see both alike.
std::unique_ptr<Dataset> NewByteImageDataset(ByteImages images,
                                             const PixelScale& scale);

}  // namespace ps

#endif  // DATA_BYTE_IMAGES_H_
