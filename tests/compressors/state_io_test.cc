#include "compressors/state_io.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace ps {
namespace {

std::string StateOf(int64_t number, absl::string_view bytes) {
  StateWriter writer("test");
  writer.PutInt(number);
  writer.PutBytes(bytes);
  return std::move(writer).Finish();
}

TEST(StateIoTest, ReadsWhatWasPut) {
  for (const std::string& bytes : {std::string(), std::string(1000, '\xff')}) {
    const std::string state = StateOf(-7, bytes);
    auto reader = StateReader::Open("test", state);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(*reader->GetInt(), -7);
    EXPECT_FALSE(reader->Finish().ok()) << "something is left";
    EXPECT_EQ(*reader->GetBytes(), bytes);
    EXPECT_TRUE(reader->Finish().ok());
    EXPECT_EQ(reader->GetBytes().status().code(), absl::StatusCode::kDataLoss);
  }
}

// The checksum cannot detect this: a number of another kind, read as a length.
TEST(StateIoTest, BytesPastTheEndAreRefused) {
  for (const int64_t size : {int64_t{-1}, int64_t{25}, INT64_MAX, INT64_MIN}) {
    const std::string state = StateOf(size, std::string(16, 'x'));
    auto reader = StateReader::Open("test", state);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(reader->GetBytes().status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST(StateIoTest, EveryFlippedBitIsSeen) {
  const std::string good = StateOf(3, "some bytes that end within a word");
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    EXPECT_EQ(StateReader::Open("test", bad).status().code(),
              absl::StatusCode::kDataLoss);
  }
}

TEST(StateIoTest, AnotherKindOrVersionIsNamed) {
  const std::string state = StateOf(3, "");
  const absl::Status kind = StateReader::Open("tests", state).status();
  EXPECT_TRUE(absl::IsDataLoss(kind));
  EXPECT_EQ(kind.message(),
            "the saved state is \"test 1\", and \"tests 1\" is needed");
  const absl::Status version = StateReader::Open("test", state, 2).status();
  EXPECT_TRUE(absl::IsDataLoss(version));
  EXPECT_EQ(version.message(),
            "the saved state is \"test 1\", and \"test 2\" is needed; another "
            "version of this program has written it");
  StateWriter writer("test", 2);
  EXPECT_TRUE(StateReader::Open("test", std::move(writer).Finish(), 2).ok());
}

}  // namespace
}  // namespace ps
