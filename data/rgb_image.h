// A decoded photograph.
#ifndef DATA_RGB_IMAGE_H_
#define DATA_RGB_IMAGE_H_

#include <cstdint>
#include <vector>

namespace ps {

// Decoders reject larger images (about 8,000 x 8,000) before they allocate
// anything for them.
constexpr int64_t kMaxImagePixels = int64_t{1} << 26;

struct RgbImage {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> pixels;  // [height, width, 3]: red, green, blue.
};

}  // namespace ps

#endif  // DATA_RGB_IMAGE_H_
