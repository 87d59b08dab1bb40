// Makes JPEG and PNG files.
#ifndef TESTS_DATA_ENCODE_IMAGE_FOR_TEST_H_
#define TESTS_DATA_ENCODE_IMAGE_FOR_TEST_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ps {

struct EncodeOptions {
  int width = 0;
  int height = 0;
  // JPEG: 1 (grey), 3 (colour) or 4 (CMYK). PNG: 1 to 4, of which the last of 2
  // and 4 is opacity.
  int channels = 3;
  bool progressive = false;  // JPEG; PNG: interlaced.
  bool many_scans = false;   // Grey JPEG: three for each coefficient.
  int bits = 8;              // PNG, of a channel: 8 or 16, of grey 1 to 16.
};

// pixels: [height, width, channels].
std::string EncodeJpeg(const std::vector<uint8_t>& pixels,
                       const EncodeOptions& options);

// pixels: [height, width, channels]; of 16 bits two bytes, the higher first;
// below 8 bits several in a byte, the first in the highest bits, and each row
// begins with a byte of its own.
std::string EncodePng(const std::vector<uint8_t>& pixels,
                      const EncodeOptions& options);

// pixels: [height, width], places in `palette`; red, green, blue and opacity of
// each colour.
std::string EncodePalettePng(const std::vector<uint8_t>& pixels,
                             const std::vector<uint32_t>& palette, int width,
                             int height);

}  // namespace ps

#endif  // TESTS_DATA_ENCODE_IMAGE_FOR_TEST_H_
