#include "data/jpeg.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/data/encode_image_for_test.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

// A smooth image, which compression changes little.
std::vector<uint8_t> Gradient(const EncodeOptions& options) {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < options.height; ++y) {
    for (int x = 0; x < options.width; ++x) {
      for (int c = 0; c < options.channels; ++c) {
        pixels.push_back(static_cast<uint8_t>(20 + 3 * x + 2 * y + 30 * c));
      }
    }
  }
  return pixels;
}

EncodeOptions Size(int width, int height) {
  EncodeOptions options;
  options.width = width;
  options.height = height;
  return options;
}

TEST(JpegTest, ColourAndGreyBecomeRedGreenBlue) {
  for (const int channels : {1, 3}) {
    for (const bool progressive : {false, true}) {
      EncodeOptions options = Size(19, 13);
      options.channels = channels;
      options.progressive = progressive;
      const std::vector<uint8_t> pixels = Gradient(options);
      const std::string file = EncodeJpeg(pixels, options);
      EXPECT_TRUE(LooksLikeJpeg(file));
      const auto image = DecodeJpeg(file);
      ASSERT_TRUE(image.ok()) << image.status();
      EXPECT_EQ(image->width, 19);
      EXPECT_EQ(image->height, 13);
      ASSERT_EQ(image->pixels.size(), 19 * 13 * 3);
      for (size_t i = 0; i < image->pixels.size(); ++i) {
        const int original = pixels[channels == 3 ? i : i / 3];
        ASSERT_NEAR(image->pixels[i], original, 12) << i;
      }
    }
  }
}

TEST(JpegTest, CmykIsAnErrorThatSaysSo) {
  EncodeOptions options = Size(8, 8);
  options.channels = 4;
  const auto image = DecodeJpeg(EncodeJpeg(Gradient(options), options));
  EXPECT_EQ(image.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(image.status().message()), HasSubstr("CMYK"));
}

TEST(JpegTest, AFileCutAnywhereIsDataLossWithAReason) {
  for (const bool progressive : {false, true}) {
    EncodeOptions options = Size(40, 30);
    options.progressive = progressive;
    const std::string file = EncodeJpeg(Gradient(options), options);
    // The last two bytes only mark the end.
    for (size_t length = 0; length < file.size() - 2; ++length) {
      const auto image = DecodeJpeg(file.substr(0, length));
      ASSERT_EQ(image.status().code(), absl::StatusCode::kDataLoss)
          << length << " of " << file.size() << ": " << image.status();
      ASSERT_NE(image.status().message(), "");
    }
  }
}

TEST(JpegTest, ChangedBytesAreAnErrorOrAnImageOfItsSizeButNoCrash) {
  const EncodeOptions options = Size(24, 16);
  const std::string file = EncodeJpeg(Gradient(options), options);
  RandomStream random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string changed = file;
    for (uint64_t flips = 1 + random.Below(3); flips > 0; --flips) {
      // The size in the frame header could request 2^26 pixels, which is slow,
      // and is tested below.
      const size_t at = random.Below(changed.size());
      changed[at] = static_cast<char>(random.Next());
    }
    const auto image = DecodeJpeg(changed);
    if (!image.ok()) continue;
    ASSERT_EQ(static_cast<int64_t>(image->pixels.size()),
              image->width * image->height * 3);
  }
}

TEST(JpegTest, AnImageThatSaysItIsHugeIsRefusedBeforeMemoryIsTaken) {
  const EncodeOptions options = Size(8, 8);
  std::string file = EncodeJpeg(Gradient(options), options);
  // The frame header: marker, length, bits, height, width.
  const size_t frame = file.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  file.replace(frame + 5, 4, "\xff\x00\xff\x00", 4);
  const auto image = DecodeJpeg(file);
  EXPECT_EQ(image.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(image.status().message()),
              HasSubstr("65280 x 65280 pixels"));
}

TEST(JpegTest, AnImageOfEndlessScansIsRefused) {
  EncodeOptions options = Size(16, 16);
  options.channels = 1;
  options.many_scans = true;
  const auto image = DecodeJpeg(EncodeJpeg(Gradient(options), options));
  EXPECT_EQ(image.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(image.status().message()),
              HasSubstr("more than 100 scans"));
}

}  // namespace
}  // namespace ps
