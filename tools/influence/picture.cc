#include "tools/influence/picture.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

struct Range {
  float low = std::numeric_limits<float>::infinity();
  float high = -std::numeric_limits<float>::infinity();

  uint8_t ByteOf(float value) const {
    if (!(high > low)) return 0;
    return static_cast<uint8_t>(
        std::lround(255 * (value - low) / (high - low)));
  }
};

// pixels: [height, width, channels], one channel or three.
absl::StatusOr<std::string> EncodePicture(const std::vector<uint8_t>& pixels,
                                          const ExampleShape& example,
                                          int64_t channels) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(example.width);
  image.height = static_cast<png_uint_32>(example.height);
  image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(size, '\0');
  if (png_image_write_to_memory(&image, file.data(), &size,
                                /*convert_to_8_bit=*/0, pixels.data(),
                                /*row_stride=*/0, nullptr) == 0) {
    return absl::InternalError(
        absl::StrCat("cannot write a picture: ", image.message));
  }
  file.resize(size);
  return file;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> MakePictures(
    const Batch& batch, const ExampleShape& example) {
  const int64_t channels = example.channels == 3 ? 3 : 1;
  const int64_t area = example.height * example.width;
  const auto value = [&](int64_t i, int64_t channel, int64_t pixel) {
    return batch.inputs[i * example.num_elements() + channel * area + pixel];
  };
  std::vector<Range> ranges(channels);
  for (int64_t i = 0; i < batch.size(); ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t pixel = 0; pixel < area; ++pixel) {
        ranges[c].low = std::min(ranges[c].low, value(i, c, pixel));
        ranges[c].high = std::max(ranges[c].high, value(i, c, pixel));
      }
    }
  }
  std::vector<std::string> pictures;
  std::vector<uint8_t> pixels(area * channels);
  for (int64_t i = 0; i < batch.size(); ++i) {
    for (int64_t pixel = 0; pixel < area; ++pixel) {
      for (int64_t c = 0; c < channels; ++c) {
        pixels[pixel * channels + c] = ranges[c].ByteOf(value(i, c, pixel));
      }
    }
    PS_ASSIGN_OR_RETURN(pictures.emplace_back(),
                        EncodePicture(pixels, example, channels));
  }
  return pictures;
}

}  // namespace ps
