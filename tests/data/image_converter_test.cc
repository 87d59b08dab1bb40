#include "data/image_converter.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "data/byte_images.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::Each;
using ::testing::FloatNear;
using ::testing::Pointwise;

ExampleShape Shape(int64_t channels, int64_t height, int64_t width) {
  ExampleShape shape;
  shape.channels = channels;
  shape.height = height;
  shape.width = width;
  shape.num_classes = 2;
  return shape;
}

// Every pixel and channel has another value.
RgbImage Image(int64_t width, int64_t height) {
  RgbImage image;
  image.width = width;
  image.height = height;
  for (int64_t i = 0; i < 3 * width * height; ++i) {
    image.pixels.push_back(static_cast<uint8_t>(i * 37));
  }
  return image;
}

TEST(ImageConverter, APhotographOfAnExampleIsThatExample) {
  for (const int64_t channels : {1, 3}) {
    RgbImage photograph = Image(5, 4);
    ByteImages images;
    images.shape = Shape(channels, 4, 5);
    images.labels = {0};
    for (int64_t channel = 0; channel < channels; ++channel) {
      for (int64_t i = 0; i < 20; ++i) {
        images.pixels.push_back(photograph.pixels[3 * i + channel]);
      }
    }
    if (channels == 1) {
      for (int64_t i = 0; i < 60; ++i) {
        photograph.pixels[i] = images.pixels[i / 3];
      }
    }
    std::vector<PixelScale> scales(channels, {0.3, 0.2});
    scales[0].mean = 0.4;
    const std::unique_ptr<Dataset> set = NewByteImageDataset(images, scales);
    Batch batch;
    ASSERT_TRUE(set->Read({0}, 0, &batch).ok());
    std::vector<float> converted(batch.inputs.size());
    set->converter()->Convert(photograph, converted.data());
    EXPECT_THAT(converted, Pointwise(FloatNear(1e-5), batch.inputs));
  }
}

TEST(ImageConverter, OtherProportionsAreCutAtBothSides) {
  const auto converter = NewImageConverter(Shape(3, 2, 2), {{}, {}, {}});
  for (const bool wide : {false, true}) {
    RgbImage image;
    image.width = wide ? 8 : 4;
    image.height = wide ? 4 : 8;
    for (int64_t y = 0; y < image.height; ++y) {
      for (int64_t x = 0; x < image.width; ++x) {
        const int64_t i = wide ? x : y;
        // The middle is black.
        image.pixels.insert(image.pixels.end(), 3, i < 2 || i > 5 ? 255 : 0);
      }
    }
    std::vector<float> converted(12, -1);
    converter->Convert(image, converted.data());
    EXPECT_THAT(converted, Each(0.0F));
  }
}

TEST(ImageConverter, AnyShapeBecomesAnyOther) {
  const auto converter = NewImageConverter(Shape(1, 3, 200), {{}});
  std::vector<float> converted(600);
  for (const auto& [width, height] :
       {std::pair<int, int>{1, 1}, {1, 300}, {300, 1}, {7, 5}}) {
    converter->Convert(Image(width, height), converted.data());
    EXPECT_THAT(converted,
                Each(testing::AllOf(testing::Ge(0.0F), testing::Le(1.0F))));
  }
}

}  // namespace
}  // namespace ps
