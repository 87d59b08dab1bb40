#include "data/jpeg.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/random.h"
#include "data/decode_image.h"
#include "data/exif.h"
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

// The right values are those of Pillow 9.4, convert("RGB").
TEST(JpegTest, CmykBecomesTheRgbOfPillow) {
  EncodeOptions options = Size(8, 8);
  options.channels = 4;
  std::vector<uint8_t> inks;
  for (int i = 0; i < 64; ++i) {
    // Inverted, as in files: little cyan, much yellow, hardly any black.
    for (const int ink : {200, 100, 50, 240}) {
      inks.push_back(static_cast<uint8_t>(ink));
    }
  }
  const auto image = DecodeJpeg(EncodeJpeg(inks, options));
  ASSERT_TRUE(image.ok()) << image.status();
  ASSERT_EQ(image->pixels.size(), 8 * 8 * 3);
  for (size_t i = 0; i < image->pixels.size(); i += 3) {
    EXPECT_NEAR(image->pixels[i], 188, 1);
    EXPECT_NEAR(image->pixels[i + 1], 94, 1);
    EXPECT_NEAR(image->pixels[i + 2], 47, 1);
  }
}

// An image of four grey rectangles: A at the top left, then B, C, D.
std::vector<uint8_t> FourRectangles() {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 16; ++x) {
      pixels.push_back(static_cast<uint8_t>(20 + 60 * (x / 8 + 2 * (y / 16))));
    }
  }
  return pixels;
}

// The letters in the corners, row by row.
std::string Corners(const RgbImage& image) {
  std::string letters;
  for (const int64_t y : {int64_t{1}, image.height - 2}) {
    for (const int64_t x : {int64_t{1}, image.width - 2}) {
      letters.push_back(static_cast<char>(
          'A' + (image.pixels[3 * (y * image.width + x)] + 10) / 60));
    }
  }
  return letters;
}

// The right values are those of Pillow 9.4, ImageOps.exif_transpose.
TEST(DecodeImageTest, PhotographsAreTurnedAsTheirExifDataSay) {
  const char* const corners[] = {"ABCD", "BADC", "DCBA", "CDAB",
                                 "ACBD", "CADB", "DBCA", "BDAC"};
  EncodeOptions options = Size(16, 32);
  options.channels = 1;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    options.exif = ExifForTest(orientation);
    for (const std::string& file : {EncodeJpeg(FourRectangles(), options),
                                    EncodePng(FourRectangles(), options)}) {
      const auto image = DecodeImage(file);
      ASSERT_TRUE(image.ok()) << image.status();
      EXPECT_EQ(image->width, orientation < 5 ? 16 : 32);
      EXPECT_EQ(image->height, orientation < 5 ? 32 : 16);
      EXPECT_EQ(Corners(*image), corners[orientation - 1]) << orientation;
    }
  }
}

TEST(ExifTest, EitherOrderOfBytesIsRead) {
  EXPECT_EQ(ExifOrientation(ExifForTest(6)), 6);
  const absl::string_view little(
      "II*\0\x08\0\0\0\x02\0"
      "\x0f\x01\x02\0\x04\0\0\0abc\0"        // The camera's maker.
      "\x12\x01\x03\0\x01\0\0\0\x03\0\0\0",  // The orientation.
      34);
  EXPECT_EQ(ExifOrientation(little), 3);
}

TEST(ExifTest, WhatIsDamagedIsUpright) {
  const std::string exif = ExifForTest(6);
  for (size_t length = 0; length < 20; ++length) {
    EXPECT_EQ(ExifOrientation(exif.substr(0, length)), 1) << length;
  }
  for (const int orientation : {0, 9, 255}) {
    EXPECT_EQ(ExifOrientation(ExifForTest(orientation)), 1);
  }
  EXPECT_EQ(ExifOrientation("MM*\0"), 1);
  // A directory beyond the file.
  EXPECT_EQ(ExifOrientation(absl::string_view("II*\0\xff\xff\xff\xff", 8)), 1);
  RandomStream random(RandomKey(7, 7));
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = exif;
    damaged[random.Below(damaged.size())] =
        static_cast<char>(random.Below(256));
    const int orientation = ExifOrientation(damaged);
    EXPECT_TRUE(orientation >= 1 && orientation <= 8);
  }
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
