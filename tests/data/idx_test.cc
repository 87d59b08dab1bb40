#include "data/idx.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/data/gzip_for_test.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two images of 1 x 3 pixels, byte by byte.
std::string TwoImages() {
  constexpr char kBytes[] =
      "\0\0\x08\x03"
      "\0\0\0\x02\0\0\0\x01\0\0\0\x03"
      "\x01\x02\x03\xff\xfe\xfd";
  return std::string(kBytes, sizeof(kBytes) - 1);
}

void ExpectDataLoss(absl::string_view bytes, int num_dimensions,
                    const std::string& reason) {
  const auto array = ParseIdx(bytes, num_dimensions);
  EXPECT_EQ(array.status().code(), absl::StatusCode::kDataLoss)
      << array.status();
  EXPECT_THAT(std::string(array.status().message()), HasSubstr(reason));
}

TEST(IdxTest, ReadsDimensionsAndValues) {
  const auto array = ParseIdx(TwoImages(), 3);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->dimensions, ElementsAre(2, 1, 3));
  EXPECT_THAT(array->values, ElementsAre(1, 2, 3, 255, 254, 253));
}

TEST(IdxTest, PackedIsReadAsPlain) {
  const auto array = ParseIdx(GzipForTest(TwoImages()), 3);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->values, ElementsAre(1, 2, 3, 255, 254, 253));
}

TEST(IdxTest, EveryLengthButTheWholeIsDataLoss) {
  for (const std::string& bytes : {TwoImages(), GzipForTest(TwoImages())}) {
    for (size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_EQ(ParseIdx(bytes.substr(0, length), 3).status().code(),
                absl::StatusCode::kDataLoss)
          << length << " of " << bytes.size();
    }
  }
}

TEST(IdxTest, AnyFlippedBitOfTheHeaderIsAnError) {
  for (size_t byte = 0; byte < 16; ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = TwoImages();
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      EXPECT_FALSE(ParseIdx(damaged, 3).ok())
          << "bit " << bit << " of byte " << byte;
    }
  }
}

TEST(IdxTest, BytesAfterTheEndAreDataLoss) {
  ExpectDataLoss(TwoImages() + "x", 3, "promises 6 values, but 7 follow");
}

TEST(IdxTest, LabelsAreNotImages) {
  ExpectDataLoss(TwoImages(), 1, "with 1 dimension");
}

TEST(IdxTest, FloatsAreNotBytes) {
  std::string bytes = TwoImages();
  bytes[2] = '\x0d';
  ExpectDataLoss(bytes, 3, "not an IDX file of unsigned bytes");
}

TEST(IdxTest, AZeroDimensionIsDataLoss) {
  std::string bytes = TwoImages().substr(0, 16);
  bytes[11] = '\0';
  ExpectDataLoss(bytes, 3, "dimension 1 of its header is 0");
}

TEST(IdxTest, ASizeThatOverflowsIsDataLossAndNotAllocated) {
  // 2^32 - 1 in each dimension; and 2^31 x 2^31 x 4 = 2^64, which is 0 in 64
  // bits and would match if no values follow.
  std::string bytes = TwoImages();
  bytes.replace(4, 12, std::string(12, '\xff'));
  ExpectDataLoss(bytes, 3, "more than 2^64 values");
  bytes = TwoImages().substr(0, 4) +
          std::string("\x80\0\0\0\x80\0\0\0\0\0\0\x04", 12);
  ExpectDataLoss(bytes, 3, "more than 2^64 values");
  bytes = TwoImages();
  bytes.replace(4, 4, "\x7f\xff\xff\xff");
  ExpectDataLoss(bytes, 3, "promises 6442450941 values, but 6 follow");
}

TEST(IdxTest, AMissingFileIsNotFoundByItsPath) {
  const auto array = ReadIdx("/nonexistent/train-images", 3);
  EXPECT_EQ(array.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(array.status().message()),
              HasSubstr("/nonexistent/train-images"));
}

}  // namespace
}  // namespace ps
