#include "data/gunzip.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/data/gzip_for_test.h"

namespace ps {
namespace {

constexpr int64_t kNoLimit = int64_t{1} << 40;

// Longer than one chunk of the decompressor, and not repetitive.
std::string LongText() {
  std::string text;
  for (int i = 0; text.size() < 1'000'000; ++i) absl::StrAppend(&text, i, ",");
  return text;
}

TEST(GunzipTest, UnpacksWhatWasPacked) {
  for (const std::string& text :
       {std::string(), std::string("x"), LongText()}) {
    const std::string packed = GzipForTest(text);
    EXPECT_TRUE(LooksLikeGzip(packed));
    const auto unpacked = Gunzip(packed, kNoLimit);
    ASSERT_TRUE(unpacked.ok()) << unpacked.status();
    EXPECT_EQ(*unpacked, text);
  }
}

TEST(GunzipTest, SeveralMembersAreOneText) {
  const auto unpacked = Gunzip(
      GzipForTest("one ") + GzipForTest("") + GzipForTest("two"), kNoLimit);
  ASSERT_TRUE(unpacked.ok()) << unpacked.status();
  EXPECT_EQ(*unpacked, "one two");
}

TEST(GunzipTest, EveryLengthButTheWholeIsDataLoss) {
  const std::string packed = GzipForTest("a short text, a short text");
  for (size_t length = 0; length < packed.size(); ++length) {
    EXPECT_EQ(Gunzip(packed.substr(0, length), kNoLimit).status().code(),
              absl::StatusCode::kDataLoss)
        << length << " of " << packed.size();
  }
}

// Some bits have no effect: the time in the header and the padding of the last
// byte.
TEST(GunzipTest, AFlippedBitIsAnErrorOrChangesNothing) {
  const std::string text = "a short text, a short text";
  const std::string packed = GzipForTest(text);
  int errors = 0;
  for (size_t byte = 0; byte < packed.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = packed;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      const auto unpacked = Gunzip(damaged, kNoLimit);
      if (unpacked.ok()) {
        EXPECT_EQ(*unpacked, text) << "bit " << bit << " of byte " << byte;
      } else {
        EXPECT_EQ(unpacked.status().code(), absl::StatusCode::kDataLoss);
        ++errors;
      }
    }
  }
  // All bytes except the 10 of the header and the padding.
  EXPECT_GE(errors, 8 * (static_cast<int>(packed.size()) - 11));
}

TEST(GunzipTest, BytesAfterTheEndAreDataLoss) {
  EXPECT_EQ(Gunzip(GzipForTest("text") + "rest", kNoLimit).status().code(),
            absl::StatusCode::kDataLoss);
}

// As Python's gzip and gzip itself read them.
TEST(GunzipTest, ZerosAfterAMemberAreNoData) {
  const std::string zeros(100, '\0');
  EXPECT_EQ(Gunzip(GzipForTest("text") + zeros, kNoLimit).value(), "text");
  EXPECT_EQ(
      Gunzip(GzipForTest("a") + zeros + GzipForTest("b"), kNoLimit).value(),
      "ab");
  EXPECT_FALSE(Gunzip(zeros, kNoLimit).ok());
}

TEST(GunzipTest, UnpacksNoMoreThanAllowed) {
  const std::string packed = GzipForTest(std::string(10'000'000, 'x'));
  ASSERT_LT(packed.size(), 20'000);
  EXPECT_EQ(Gunzip(packed, 9'999'999).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Gunzip(packed, 10'000'000).ok());
}

}  // namespace
}  // namespace ps
