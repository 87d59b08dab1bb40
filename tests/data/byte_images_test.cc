#include "data/byte_images.h"

#include <map>
#include <memory>
#include <numeric>
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
      NewByteImageDataset(ThreeImages(), {scale});
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
      NewByteImageDataset(ThreeImages(), {PixelScale()});
  Batch batch;
  ASSERT_TRUE(dataset->Read({0, 1, 2}, 0, &batch).ok());
  ASSERT_TRUE(dataset->Read({1}, 0, &batch).ok());
  EXPECT_THAT(batch.labels, ElementsAre(0));
  EXPECT_THAT(batch.inputs, ElementsAre(FloatEq(0.2f), FloatEq(0.4f)));
}

TEST(ByteImagesTest, ANumberOutOfRangeIsAnErrorAndLeavesTheBatch) {
  const std::unique_ptr<Dataset> dataset =
      NewByteImageDataset(ThreeImages(), {PixelScale()});
  Batch batch;
  ASSERT_TRUE(dataset->Read({0}, 0, &batch).ok());
  for (const int64_t number : {int64_t{-1}, int64_t{3}, INT64_MAX}) {
    EXPECT_EQ(dataset->Read({1, number}, 0, &batch).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(batch.labels, ElementsAre(7));
  }
}

// Two images of two channels and two pixels.
ByteImages TwoChannels(std::vector<uint8_t> pixels) {
  ByteImages images;
  images.shape.channels = 2;
  images.shape.height = 2;
  images.shape.width = 1;
  images.shape.num_classes = 10;
  images.pixels = std::move(pixels);
  images.labels = {0, 1};
  return images;
}

TEST(MeasurePixelsTest, GivesMeanAndDeviationOfEachChannel) {
  // 0.2 once and 0.6 three times: mean 0.5, variance 0.03. The other channel
  // has 0 and 1.
  const std::vector<PixelScale> scales =
      MeasurePixels(TwoChannels({51, 153, 0, 255, 153, 153, 255, 0}));
  EXPECT_NEAR(scales[0].mean, 0.5, 1e-12);
  EXPECT_NEAR(scales[0].deviation * scales[0].deviation, 0.03, 1e-12);
  EXPECT_NEAR(scales[1].mean, 0.5, 1e-12);
  EXPECT_NEAR(scales[1].deviation, 0.5, 1e-12);
}

TEST(MeasurePixelsTest, PixelsThatAreAllTheSameHaveDeviationOne) {
  const std::vector<PixelScale> scales =
      MeasurePixels(TwoChannels({51, 51, 0, 0, 51, 51, 0, 0}));
  EXPECT_NEAR(scales[0].mean, 0.2, 1e-12);
  EXPECT_EQ(scales[0].deviation, 1);
  EXPECT_EQ(scales[1].mean, 0);
  EXPECT_EQ(scales[1].deviation, 1);
  ByteImages none = TwoChannels({});
  none.labels.clear();
  EXPECT_EQ(MeasurePixels(none)[1].deviation, 1);
}

// A possible result of augmenting one channel: the padded image, cut at (top,
// left), and mirrored.
std::vector<float> Cut(const std::vector<float>& image, int height, int width,
                       int top, int left, bool flip) {
  std::vector<float> cut;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int row = y + top;
      const int column = (flip ? width - 1 - x : x) + left;
      const bool inside =
          row >= 0 && row < height && column >= 0 && column < width;
      cut.push_back(inside ? image[row * width + column] : 0);
    }
  }
  return cut;
}

class AugmentationTest : public testing::Test {
 protected:
  static constexpr int kHeight = 3;
  static constexpr int kWidth = 4;

  AugmentationTest() {
    images_.shape.channels = 1;
    images_.shape.height = kHeight;
    images_.shape.width = kWidth;
    images_.shape.num_classes = 2;
    for (int i = 1; i <= 2 * kHeight * kWidth; ++i) images_.pixels.push_back(i);
    images_.labels = {0, 1};
    scale_.deviation = 1 / 255.0;  // Makes Read() return the bytes.
  }

  // The different forms of example 0 over `epochs` epochs, and the count of
  // each.
  std::map<std::vector<float>, int> Looks(const ImageAugmentation& options,
                                          int epochs) {
    const auto dataset = NewByteImageDataset(images_, {scale_}, options);
    std::map<std::vector<float>, int> looks;
    Batch batch;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      EXPECT_TRUE(dataset->Read({0}, epoch, &batch).ok());
      ++looks[batch.inputs];
    }
    return looks;
  }

  ByteImages images_;
  PixelScale scale_;
};

TEST_F(AugmentationTest, EveryCropAndFlipOccursAndNothingElse) {
  ImageAugmentation options;
  options.crop_padding = 1;
  options.flip = true;
  std::vector<float> image(kHeight * kWidth);
  std::iota(image.begin(), image.end(), 1);
  // 18 forms, each expected 100 times in 1800. The deviation is 9.7; allows
  // five.
  const std::map<std::vector<float>, int> looks = Looks(options, 1800);
  EXPECT_EQ(looks.size(), 18);
  for (int top = -1; top <= 1; ++top) {
    for (int left = -1; left <= 1; ++left) {
      for (const bool flip : {false, true}) {
        const auto found =
            looks.find(Cut(image, kHeight, kWidth, top, left, flip));
        ASSERT_NE(found, looks.end()) << top << " " << left << " " << flip;
        EXPECT_NEAR(found->second, 100, 49);
      }
    }
  }
}

TEST_F(AugmentationTest, PaddingLargerThanTheImageStaysInBounds) {
  ImageAugmentation options;
  options.crop_padding = 9;
  // 5 x 7 positions show a part of the image; the others are all padding.
  EXPECT_EQ(Looks(options, 10000).size(), 36);
}

TEST_F(AugmentationTest, WithoutItTheImageStaysAsItIs) {
  EXPECT_EQ(Looks(ImageAugmentation(), 10).size(), 1);
}

TEST_F(AugmentationTest, TheCompanyInABatchDoesNotShow) {
  ImageAugmentation options;
  options.crop_padding = 1;
  const auto dataset = NewByteImageDataset(images_, {scale_}, options);
  Batch both, alone;
  for (int epoch = 0; epoch < 20; ++epoch) {
    ASSERT_TRUE(dataset->Read({0, 1}, epoch, &both).ok());
    ASSERT_TRUE(dataset->Read({1}, epoch, &alone).ok());
    both.inputs.erase(both.inputs.begin(),
                      both.inputs.begin() + kHeight * kWidth);
    EXPECT_EQ(both.inputs, alone.inputs);
  }
}

TEST_F(AugmentationTest, AnotherSeedDrawsAnew) {
  ImageAugmentation options;
  options.crop_padding = 1;
  const auto first = NewByteImageDataset(images_, {scale_}, options);
  options.seed = 1;
  const auto second = NewByteImageDataset(images_, {scale_}, options);
  int equal = 0;
  Batch a, b;
  for (int epoch = 0; epoch < 100; ++epoch) {
    ASSERT_TRUE(first->Read({0}, epoch, &a).ok());
    ASSERT_TRUE(second->Read({0}, epoch, &b).ok());
    equal += a.inputs == b.inputs ? 1 : 0;
  }
  EXPECT_LT(equal, 40);  // Expected: a ninth of 100.
}

}  // namespace
}  // namespace ps
