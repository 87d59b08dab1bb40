// Encodes JPEG and PNG files for tests.
#ifndef TESTS_DATA_ENCODE_IMAGE_FOR_TEST_H_
#define TESTS_DATA_ENCODE_IMAGE_FOR_TEST_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ps {

struct EncodeOptions {
  int width = 0;
  int height = 0;
  // JPEG: 1 (grey), 3 (colour) or 4 (CMYK). PNG: 1 to 4; with 2 or 4 channels
  // the last one is opacity.
  int channels = 3;
  bool progressive = false;  // JPEG; PNG: interlaced.
  bool many_scans = false;   // Grey JPEG: three scans for each coefficient.
  int bits = 8;              // PNG, per channel: 8 or 16; grey: 1 to 16.
  std::string exif;          // EXIF data, a TIFF file; empty: none.
};

// EXIF data with this orientation, as Pillow writes them.
std::string ExifForTest(int orientation);

// pixels: [height, width, channels].
std::string EncodeJpeg(const std::vector<uint8_t>& pixels,
                       const EncodeOptions& options);

// pixels: [height, width, channels]. With 16 bits a value has two bytes, the
// higher first. Below 8 bits a byte has several values, the first in the
// highest bits, and each row begins with a new byte.
std::string EncodePng(const std::vector<uint8_t>& pixels,
                      const EncodeOptions& options);

// pixels: [height, width], indices in `palette`, which has red, green, blue and
// opacity of each colour.
std::string EncodePalettePng(const std::vector<uint8_t>& pixels,
                             const std::vector<uint32_t>& palette, int width,
                             int height);

}  // namespace ps

#endif  // TESTS_DATA_ENCODE_IMAGE_FOR_TEST_H_
