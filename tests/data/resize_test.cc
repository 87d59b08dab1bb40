#include "data/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/random.h"
#include "data/random_crop.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;

// A grey image with the given pixel values.
RgbImage Grey(int width, int height, const std::vector<uint8_t>& values) {
  RgbImage image;
  image.width = width;
  image.height = height;
  for (const uint8_t value : values) {
    image.pixels.insert(image.pixels.end(), 3, value);
  }
  return image;
}

// Resizes the whole image and returns its red plane.
std::vector<float> Resize(const RgbImage& image, int width, int height,
                          bool flip = false) {
  Crop all;
  all.width = image.width;
  all.height = image.height;
  ResizeOptions options;
  options.width = width;
  options.height = height;
  options.flip = flip;
  std::vector<float> out(3 * width * height, -1);
  CropAndResize(image, all, options, out.data());
  out.resize(width * height);
  return out;
}

TEST(ResizeTest, TheSameSizeIsTheSameImage) {
  EXPECT_THAT(Resize(Grey(3, 2, {1, 2, 3, 4, 5, 6}), 3, 2),
              ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Resize(Grey(3, 2, {1, 2, 3, 4, 5, 6}), 3, 2, true),
              ElementsAre(3, 2, 1, 6, 5, 4));
}

TEST(ResizeTest, EnlargingIsBilinear) {
  // The centres of the results are at -1/4, 1/4, 3/4 and 5/4 of the way.
  EXPECT_THAT(Resize(Grey(2, 1, {0, 100}), 4, 1), ElementsAre(0, 25, 75, 100));
  EXPECT_THAT(Resize(Grey(1, 2, {0, 100}), 1, 4), ElementsAre(0, 25, 75, 100));
}

TEST(ResizeTest, ReducingWeighsEverythingUnderneath) {
  // Half the size: weights 1, 3, 3, 1 of 8 around each centre. At the edges one
  // of them falls outside: 3, 3, 1 of 7.
  EXPECT_THAT(Resize(Grey(4, 1, {0, 70, 0, 0}), 2, 1),
              ElementsAre(FloatNear(30, 1e-4), FloatNear(10, 1e-4)));
  // A pattern of single pixels becomes grey rather than one of its colours.
  std::vector<uint8_t> stripes;
  for (int i = 0; i < 64; ++i) stripes.push_back(i % 2 == 0 ? 0 : 200);
  const std::vector<float> reduced = Resize(Grey(64, 1, stripes), 8, 1);
  EXPECT_THAT(reduced, Each(FloatNear(100, 5)));
}

TEST(ResizeTest, AConstantStaysConstantAtEverySize) {
  for (const int size : {1, 2, 5, 7, 16, 100}) {
    EXPECT_THAT(Resize(Grey(7, 5, std::vector<uint8_t>(35, 77)), size, size),
                Each(FloatNear(77, 1e-4)));
  }
}

TEST(ResizeTest, NothingBeyondTheCropCounts) {
  const RgbImage image = Grey(4, 4,
                              {9, 9, 9, 9,  //
                               9, 1, 2, 9,  //
                               9, 3, 4, 9,  //
                               9, 9, 9, 9});
  Crop crop;
  crop.left = crop.top = 1;
  crop.width = crop.height = 2;
  ResizeOptions options;
  options.width = options.height = 1;
  std::vector<float> out(3);
  CropAndResize(image, crop, options, out.data());
  EXPECT_THAT(out, Each(2.5f));
}

TEST(ResizeTest, PlanesAreRedGreenBlue) {
  RgbImage image;
  image.width = 2;
  image.height = 1;
  image.pixels = {1, 2, 3, 4, 5, 6};
  Crop all;
  all.width = 2;
  all.height = 1;
  ResizeOptions options;
  options.width = 2;
  options.height = 1;
  std::vector<float> out(6);
  CropAndResize(image, all, options, out.data());
  EXPECT_THAT(out, ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(RandomCropTest, LiesInTheImageWithAreaAndRatioInRange) {
  RandomStream random(1);
  double smallest = 1, largest = 0;
  for (int i = 0; i < 2000; ++i) {
    const Crop crop = RandomCrop(300, 200, 0.08, &random);
    EXPECT_GE(crop.left, 0);
    EXPECT_GE(crop.top, 0);
    EXPECT_LE(crop.left + crop.width, 300);
    EXPECT_LE(crop.top + crop.height, 200);
    const double area = crop.width * crop.height / 60000.0;
    const double ratio = static_cast<double>(crop.width) / crop.height;
    smallest = std::min(smallest, area);
    largest = std::max(largest, area);
    EXPECT_GT(ratio, 0.75 * 0.97);  // Sides are rounded.
    EXPECT_LT(ratio, 4 / 3.0 * 1.03);
  }
  EXPECT_NEAR(smallest, 0.08, 0.01);
  // The largest crop that fits is 267 x 200.
  EXPECT_NEAR(largest, 267 / 300.0, 0.04);
}

TEST(RandomCropTest, ALineGivesASquare) {
  RandomStream random(1);
  const Crop crop = RandomCrop(1000, 1, 0.5, &random);
  EXPECT_EQ(crop.width, 1);
  EXPECT_EQ(crop.height, 1);
}

TEST(CenterCropTest, IsThePartOfTheShorterSideInTheMiddle) {
  const Crop crop = CenterCrop(500, 320, 224, 256);
  EXPECT_EQ(crop.width, 280);
  EXPECT_EQ(crop.height, 280);
  EXPECT_EQ(crop.left, 110);
  EXPECT_EQ(crop.top, 20);
  EXPECT_EQ(CenterCrop(1, 1, 1, 4096).width, 1);
}

}  // namespace
}  // namespace ps
