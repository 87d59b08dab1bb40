// Labelled images with one byte per value. Data sets keep them in memory in
// this form, which takes a quarter of the space of floats, and convert them
// batch by batch.
#ifndef DATA_BYTE_IMAGES_H_
#define DATA_BYTE_IMAGES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "common/batch.h"
#include "common/data_description.h"
#include "data/dataset.h"
#include "data/image_converter.h"

namespace ps {

struct ByteImages {
  ExampleShape shape;
  std::vector<uint8_t> pixels;  // [size, channels, height, width], row-major.
  std::vector<uint8_t> labels;  // [size], each in [0, shape.num_classes).
};

// Returns for each channel the scale that gives its pixels mean 0 and standard
// deviation 1. The sums are of integers, so that the result is the same on
// every machine. If all pixels are the same, the deviation counts as 1.
std::vector<PixelScale> MeasurePixels(const ByteImages& images);

// Adds the scales, and digests of both sets.
void DescribeImages(const ByteImages& train, const ByteImages& test,
                    const std::vector<PixelScale>& scales,
                    DataDescription* description);

// Random changes of training images, drawn anew for each example and epoch.
struct ImageAugmentation {
  // Each image is padded on every side by this many pixels of its channels'
  // means (0 after scaling), and a part of the original size is cut out at
  // random; at least 0.
  int64_t crop_padding = 0;
  bool flip = false;  // Flips half of the images left to right.
  uint64_t seed = 0;  // The seed; draws depend on seed, epoch and number.
};

// Creates a data set. `images` has a label for each image, `scales` an element
// for each channel. Use the training set's scales for the test set too, since a
// model must see both on the same scale.
std::unique_ptr<Dataset> NewByteImageDataset(
    ByteImages images, const std::vector<PixelScale>& scales,
    const ImageAugmentation& augmentation = ImageAugmentation());

}  // namespace ps

#endif  // DATA_BYTE_IMAGES_H_
