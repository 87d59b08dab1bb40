// Resizes a part of an image.
#ifndef DATA_RESIZE_H_
#define DATA_RESIZE_H_

#include <cstdint>

#include "data/rgb_image.h"

namespace ps {

// A rectangle of whole pixels, within the image; at least 1 x 1.
struct Crop {
  int64_t left = 0;
  int64_t top = 0;
  int64_t width = 0;
  int64_t height = 0;
};

// The form of the resized image.
struct ResizeOptions {
  int64_t width = 0;
  int64_t height = 0;
  bool flip = false;  // Whether to flip left to right.
};

// Resizes a crop. Every pixel of the result is the mean of the crop's pixels
// around it, with weights that fall linearly to 0 at the distance of one pixel
// of the coarser grid. This is bilinear interpolation if the crop is enlarged,
// and a filter wide enough against aliasing if it is reduced. Pixels outside
// the crop do not contribute. out: [3, height, width], in [0, 255].
void CropAndResize(const RgbImage& image, const Crop& crop,
                   const ResizeOptions& options, float* out);

}  // namespace ps

#endif  // DATA_RESIZE_H_
