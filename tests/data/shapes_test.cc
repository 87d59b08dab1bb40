// The generated colour images: any size, varied, and not distinguishable by
// single pixels.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "common/random.h"
#include "data/dataset.h"
#include "data/shape_image.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

std::vector<float> Draw(int shape, uint64_t key,
                        const ShapeImageOptions& options) {
  std::vector<float> pixels(3 * options.side * options.side);
  DrawShape(shape, options, RandomStream(key), pixels.data());
  return pixels;
}

TEST(ShapesTest, PixelsAreBrightnessAtEverySize) {
  for (const int side : {16, 32, 33, 224}) {
    ShapeImageOptions options;
    options.side = side;
    options.noise = 0.5;
    for (const float value : Draw(3, 1, options)) {
      ASSERT_GE(value, 0);
      ASSERT_LE(value, 1);
    }
  }
}

// With the same pose and colours, only the shape differs.
TEST(ShapesTest, EveryKindCoversOtherPixels) {
  ShapeImageOptions options;
  options.noise = 0;
  for (uint64_t key = 0; key < 20; ++key) {
    for (int a = 0; a < kNumShapes; ++a) {
      for (int b = 0; b < a; ++b) {
        EXPECT_NE(Draw(a, key, options), Draw(b, key, options))
            << a << " " << b;
      }
    }
  }
}

TEST(ShapesTest, TheNoiseHasTheDeviationAskedFor) {
  ShapeImageOptions clean;
  clean.noise = 0;
  ShapeImageOptions noisy;
  noisy.noise = 0.05;
  double squares = 0;
  int count = 0;
  for (uint64_t key = 0; key < 20; ++key) {
    const std::vector<float> a = Draw(0, key, clean);
    const std::vector<float> b = Draw(0, key, noisy);
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] < 0.2 || a[i] > 0.8) continue;  // May be clipped.
      squares += (a[i] - b[i]) * (a[i] - b[i]);
      ++count;
    }
  }
  EXPECT_NEAR(std::sqrt(squares / count), 0.05, 0.002);
}

TEST(ShapesTest, ImagesHaveTheSizeAskedForAndEveryKindIsATenth) {
  DatasetOptions options;
  options.config.set_name("shapes");
  options.config.mutable_shapes()->set_side(17);
  options.config.mutable_shapes()->set_train_examples(2000);
  const auto pair = NewDataset(options);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->train->example_shape().num_elements(), 3 * 17 * 17);
  EXPECT_EQ(pair->train->example_shape().num_classes, 10);
  std::vector<int64_t> numbers(2000);
  std::iota(numbers.begin(), numbers.end(), 0);
  Batch batch;
  ASSERT_TRUE(pair->train->Read(numbers, 0, &batch).ok());
  std::array<int, 10> count = {};
  for (const int32_t label : batch.labels) ++count.at(label);
  // The deviation of each count is sqrt(2000 x 0.1 x 0.9) = 13; allows five.
  for (const int images : count) EXPECT_NEAR(images, 200, 67);
  const double mean =
      std::accumulate(batch.inputs.begin(), batch.inputs.end(), 0.0) /
      static_cast<double>(batch.inputs.size());
  EXPECT_NEAR(mean, 0, 0.2);
}

}  // namespace
}  // namespace ps
