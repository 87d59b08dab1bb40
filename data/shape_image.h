// Draws colour images of shapes.
#ifndef DATA_SHAPE_IMAGE_H_
#define DATA_SHAPE_IMAGE_H_

#include <cstdint>

#include "common/random.h"

namespace ps {

constexpr int kNumShapes = 10;

struct ShapeImageOptions {
  int64_t side = 32;  // Height and width in pixels.
  // The deviation of the pixel noise; 1 is full brightness.
  double noise = 0.1;
};

// Draws one shape of kind `shape`, in [0, kNumShapes): disc, ring, square,
// frame, triangle, star, plus, crescent, bar, T. Position, size, angle and
// colours are random, and so is the background, a gradient between two colours.
// pixels: [3, side, side], brightness in [0, 1] of red, green and blue.
void DrawShape(int shape, const ShapeImageOptions& options, RandomStream random,
               float* pixels);

}  // namespace ps

#endif  // DATA_SHAPE_IMAGE_H_
