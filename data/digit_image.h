// Draws a digit in a hurried handwriting.
#ifndef DATA_DIGIT_IMAGE_H_
#define DATA_DIGIT_IMAGE_H_

#include <array>
#include <cstdint>

#include "common/random.h"

namespace ps {

constexpr int kDigitImageSide = 28;  // Pixels.

// An image [row, column], 0 for white paper and 255 for full ink.
using DigitImage = std::array<uint8_t, kDigitImageSide * kDigitImageSide>;

struct DigitImageOptions {
  double noise = 0;       // The value of DigitsConfig.noise.
  double distortion = 1;  // The value of DigitsConfig.distortion.
};

// Draws `digit`, 0 to 9. A pure function of its arguments. `random` determines
// the choice of glyph, its deformation, the pen, the contrast and the noise.
DigitImage DrawDigit(int digit, const DigitImageOptions& options,
                     RandomStream random);

}  // namespace ps

#endif  // DATA_DIGIT_IMAGE_H_
