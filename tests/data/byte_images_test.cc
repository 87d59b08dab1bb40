#include "data/byte_images.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

// Three images of one row and two pixels.
ByteImages ThreeImages() {
  ByteImages images;
  images.shape.channels = 1;
  images.shape.height = 1;
  images.shape.width = 2;
  images.shape.num_classes = 10;
  images.pixels = {0, 255, 51, 102, 153, 204};
  images.labels = {7, 0, 9};
  return images;
}

TEST(ByteImagesTest, ReadsTheExamplesAskedForInTheirOrder) {
  PixelScale scale;
  scale.mean = 0.5;
  scale.deviation = 0.25;
  const std::unique_ptr<Dataset> dataset =
      NewByteImageDataset(ThreeImages(), scale);
  EXPECT_EQ(dataset->size(), 3);
  EXPECT_EQ(dataset->example_shape().num_elements(), 2);
  Batch batch;
  ASSERT_TRUE(dataset->Read({2, 0, 2}, 0, &batch).ok());
  EXPECT_THAT(batch.labels, ElementsAre(9, 7, 9));
  EXPECT_THAT(batch.inputs,
              ElementsAre(FloatEq(0.4f), FloatEq(1.2f), FloatEq(-2), FloatEq(2),
                          FloatEq(0.4f), FloatEq(1.2f)));
}

TEST(ByteImagesTest, AShorterBatchLeavesNothingOfTheLongerOne) {
  const std::unique_ptr<Dataset> dataset =
      NewByteImageDataset(ThreeImages(), PixelScale());
  Batch batch;
  ASSERT_TRUE(dataset->Read({0, 1, 2}, 0, &batch).ok());
  ASSERT_TRUE(dataset->Read({1}, 0, &batch).ok());
  EXPECT_THAT(batch.labels, ElementsAre(0));
  EXPECT_THAT(batch.inputs, ElementsAre(FloatEq(0.2f), FloatEq(0.4f)));
}

TEST(ByteImagesTest, ANumberOutOfRangeIsAnErrorAndLeavesTheBatch) {
  const std::unique_ptr<Dataset> dataset =
      NewByteImageDataset(ThreeImages(), PixelScale());
  Batch batch;
  ASSERT_TRUE(dataset->Read({0}, 0, &batch).ok());
  for (const int64_t number : {int64_t{-1}, int64_t{3}, INT64_MAX}) {
    EXPECT_EQ(dataset->Read({1, number}, 0, &batch).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(batch.labels, ElementsAre(7));
  }
}

TEST(MeasurePixelsTest, GivesMeanAndDeviationOfTheScaledPixels) {
  // 0.2 and 0.6, once and three times: mean 0.5, variance 0.03.
  const PixelScale scale = MeasurePixels({51, 153, 153, 153});
  EXPECT_NEAR(scale.mean, 0.5, 1e-12);
  EXPECT_NEAR(scale.deviation * scale.deviation, 0.03, 1e-12);
}

TEST(MeasurePixelsTest, PixelsThatAreAllTheSameHaveDeviationOne) {
  const PixelScale scale = MeasurePixels({51, 51, 51});
  EXPECT_NEAR(scale.mean, 0.2, 1e-12);
  EXPECT_EQ(scale.deviation, 1);
  EXPECT_EQ(MeasurePixels({}).deviation, 1);
}

}  // namespace
}  // namespace ps
