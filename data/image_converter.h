// Converts any photographs to the form of a data set's images.
#ifndef DATA_IMAGE_CONVERTER_H_
#define DATA_IMAGE_CONVERTER_H_

#include <memory>
#include <vector>

#include "common/batch.h"
#include "data/rgb_image.h"

namespace ps {

// Converts images. Immutable, so any thread may use it.
class ImageConverter {
 public:
  virtual ~ImageConverter() = default;

  // Writes the model's input: [channels, height, width] of the data set.
  virtual void Convert(const RgbImage& image, float* out) const = 0;
};

// The scale of pixels: a byte p is (p / 255 - mean) / deviation for the model.
struct PixelScale {
  double mean = 0;
  double deviation = 1;
};

// Creates a converter to images of `shape`, with one channel or three, and a
// scale for each. It takes the largest part in the middle that has the shape's
// proportions, resizes it and, for one channel, takes the luminance (ITU-R
// BT.601).
std::unique_ptr<ImageConverter> NewImageConverter(
    const ExampleShape& shape, const std::vector<PixelScale>& scales);

}  // namespace ps

#endif  // DATA_IMAGE_CONVERTER_H_
