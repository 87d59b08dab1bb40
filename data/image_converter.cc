#include "data/image_converter.h"

#include <algorithm>
#include <cstdint>

#include "data/resize.h"
#include "glog/logging.h"

namespace ps {
namespace {

// The weights of red, green and blue in ITU-R BT.601.
constexpr double kLuminance[] = {0.299, 0.587, 0.114};

// Returns the largest centred rectangle with the proportions width : height.
Crop LargestCrop(const RgbImage& image, int64_t width, int64_t height) {
  Crop crop;
  crop.width =
      std::clamp<int64_t>(image.height * width / height, 1, image.width);
  crop.height =
      std::clamp<int64_t>(image.width * height / width, 1, image.height);
  crop.left = (image.width - crop.width) / 2;
  crop.top = (image.height - crop.height) / 2;
  return crop;
}

class ScaledImages final : public ImageConverter {
 public:
  ScaledImages(const ExampleShape& shape, const std::vector<PixelScale>& scales)
      : shape_(shape), scales_(scales) {
    CHECK(shape.channels == 1 || shape.channels == 3);
    CHECK_EQ(static_cast<int64_t>(scales.size()), shape.channels);
  }

  void Convert(const RgbImage& image, float* out) const override {
    ResizeOptions options;
    options.width = shape_.width;
    options.height = shape_.height;
    const int64_t plane = options.width * options.height;
    std::vector<float> rgb(3 * plane);
    CropAndResize(image, LargestCrop(image, options.width, options.height),
                  options, rgb.data());
    for (int64_t channel = 0; channel < shape_.channels; ++channel) {
      const PixelScale& scale = scales_[channel];
      for (int64_t i = 0; i < plane; ++i) {
        double value = rgb[channel * plane + i];
        if (shape_.channels == 1) {
          value = kLuminance[0] * rgb[i] + kLuminance[1] * rgb[plane + i] +
                  kLuminance[2] * rgb[2 * plane + i];
        }
        out[channel * plane + i] =
            static_cast<float>((value / 255.0 - scale.mean) / scale.deviation);
      }
    }
  }

 private:
  const ExampleShape shape_;
  const std::vector<PixelScale> scales_;  // [channels]
};

}  // namespace

std::unique_ptr<ImageConverter> NewImageConverter(
    const ExampleShape& shape, const std::vector<PixelScale>& scales) {
  return std::make_unique<ScaledImages>(shape, scales);
}

}  // namespace ps
