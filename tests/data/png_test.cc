#include "data/png.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/data/encode_image_for_test.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

EncodeOptions Format(int width, int height, int channels, int bits) {
  EncodeOptions options;
  options.width = width;
  options.height = height;
  options.channels = channels;
  options.bits = bits;
  return options;
}

std::vector<uint8_t> Decode(const std::string& file) {
  EXPECT_TRUE(LooksLikePng(file));
  const auto image = DecodePng(file);
  EXPECT_TRUE(image.ok()) << image.status();
  return image.ok() ? image->pixels : std::vector<uint8_t>();
}

std::vector<uint8_t> Noise(size_t size) {
  RandomStream random(size);
  std::vector<uint8_t> pixels(size);
  for (uint8_t& value : pixels) value = static_cast<uint8_t>(random.Next());
  return pixels;
}

TEST(PngTest, ColourOf8BitsIsExact) {
  for (const bool interlaced : {false, true}) {
    EncodeOptions options = Format(13, 9, 3, 8);
    options.progressive = interlaced;
    const std::vector<uint8_t> pixels = Noise(13 * 9 * 3);
    EXPECT_EQ(Decode(EncodePng(pixels, options)), pixels);
  }
}

TEST(PngTest, GreyIsAllThreeColours) {
  EXPECT_THAT(Decode(EncodePng({7, 200}, Format(2, 1, 1, 8))),
              ElementsAre(7, 7, 7, 200, 200, 200));
}

TEST(PngTest, FewBitsSpanTheWholeRange) {
  // Black, white, white, black: 0110.
  EXPECT_THAT(Decode(EncodePng({0x60}, Format(4, 1, 1, 1))),
              ElementsAre(0, 0, 0, 255, 255, 255, 255, 255, 255, 0, 0, 0));
  // The values 0, 1, 2, 3 of 3.
  EXPECT_THAT(Decode(EncodePng({0x1b}, Format(4, 1, 1, 2))),
              ElementsAre(0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255));
}

TEST(PngTest, SixteenBitsAreScaledToEight) {
  EXPECT_THAT(
      Decode(EncodePng({0xff, 0xff, 0x80, 0x80, 0, 0}, Format(1, 1, 3, 16))),
      ElementsAre(255, 128, 0));
}

TEST(PngTest, WhatIsTransparentIsLaidOnWhite) {
  // Black with opacity 1, 1/5 and 0.
  EXPECT_THAT(Decode(EncodePng({0, 255, 0, 51, 0, 0}, Format(3, 1, 2, 8))),
              ElementsAre(0, 0, 0, 204, 204, 204, 255, 255, 255));
  EXPECT_THAT(Decode(EncodePng({255, 100, 0, 128}, Format(1, 1, 4, 8))),
              ElementsAre(255, 177, 127));
}

TEST(PngTest, PalettesAreLookedUpWithTheirOpacity) {
  EXPECT_THAT(Decode(EncodePalettePng(
                  {1, 0, 2}, {0x0a141eff, 0x28323cff, 0x00000000}, 3, 1)),
              ElementsAre(40, 50, 60, 10, 20, 30, 255, 255, 255));
}

TEST(PngTest, AFileCutAnywhereIsDataLossWithAReason) {
  const EncodeOptions options = Format(12, 10, 3, 8);
  const std::string file = EncodePng(Noise(360), options);
  for (size_t length = 0; length < file.size(); ++length) {
    const auto image = DecodePng(file.substr(0, length));
    ASSERT_EQ(image.status().code(), absl::StatusCode::kDataLoss) << length;
    ASSERT_NE(image.status().message(), "");
  }
}

TEST(PngTest, ChangedBytesAreAnErrorOrAnImageOfItsSizeButNoCrash) {
  const EncodeOptions options = Format(12, 10, 3, 8);
  const std::string file = EncodePng(Noise(360), options);
  for (size_t at = 0; at < file.size(); ++at) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      const auto image = DecodePng(changed);
      if (!image.ok()) continue;
      ASSERT_EQ(image->pixels.size(), 360) << at;
    }
  }
}

TEST(PngTest, AnImageThatSaysItIsHugeIsRefusedBeforeMemoryIsTaken) {
  // 2^14 x 2^13 pixels of one bit take only few bytes in the file.
  const std::string file =
      EncodePng(std::vector<uint8_t>((1 << 13) * (1 << 11)),
                Format(1 << 14, 1 << 13, 1, 1));
  const auto image = DecodePng(file);
  EXPECT_EQ(image.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(image.status().message()),
              HasSubstr("16384 x 8192 pixels"));
}

}  // namespace
}  // namespace ps
