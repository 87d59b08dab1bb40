#include "tools/bench/load/gradient_source.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "formats/npy_row_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> Read(const GradientSource& source, int64_t number,
                        int64_t begin, int64_t n) {
  std::vector<float> values(n);
  const absl::Status status =
      source.Read(number, begin, absl::MakeSpan(values));
  EXPECT_TRUE(status.ok()) << status;
  return values;
}

TEST(GeneratedGradients, APartIsThatOfTheWhole) {
  const auto source = GeneratedGradients(/*seed=*/1);
  const std::vector<float> whole = Read(*source, 3, 0, 100000);
  for (const int64_t begin : {0, 1, 16383, 16384, 50000}) {
    const std::vector<float> part = Read(*source, 3, begin, 20000);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + begin))
        << begin;
  }
}

TEST(GeneratedGradients, NumbersAndSeedsDiffer) {
  const auto one = GeneratedGradients(1);
  EXPECT_EQ(Read(*one, 0, 0, 100), Read(*GeneratedGradients(1), 0, 0, 100));
  EXPECT_NE(Read(*one, 0, 0, 100), Read(*one, 1, 0, 100));
  EXPECT_NE(Read(*one, 0, 0, 100), Read(*GeneratedGradients(2), 0, 0, 100));
  // Stretches differ, too.
  EXPECT_NE(Read(*one, 0, 0, 100), Read(*one, 0, 16384, 100));
}

TEST(GeneratedGradients, TheLawIsLaplaces) {
  constexpr int64_t kElements = 1000000;
  double magnitudes = 0, sum = 0;
  int64_t above_five = 0;
  for (const float x : Read(*GeneratedGradients(1), 0, 0, kElements)) {
    sum += x;
    magnitudes += std::fabs(x);
    if (std::fabs(x) > 5) ++above_five;
  }
  // Five standard deviations.
  EXPECT_NEAR(sum / kElements, 0, 5 * std::sqrt(2.0 / kElements));
  EXPECT_NEAR(magnitudes / kElements, 1, 5 / std::sqrt(kElements));
  EXPECT_NEAR(static_cast<double>(above_five) / kElements, std::exp(-5.0),
              5 * std::sqrt(std::exp(-5.0) / kElements));
}

class GradientsOfFileTest : public testing::Test {
 protected:
  GradientsOfFileTest()
      : path_(absl::StrCat(
            testing::TempDir(), "/gradients-",
            testing::UnitTest::GetInstance()->current_test_info()->name(),
            ".npy")) {}

  void Write(const std::vector<std::vector<float>>& rows) {
    auto file =
        NpyRowFile::Create(path_, rows.empty() ? 3 : rows.front().size());
    ASSERT_TRUE(file.ok()) << file.status();
    for (const auto& row : rows) ASSERT_TRUE(file->Append(row).ok());
    ASSERT_TRUE(file->Close().ok());
  }

  const std::string path_;
};

TEST_F(GradientsOfFileTest, RowsComeInTurnAndAreShiftedTheNextTime) {
  Write({{1, 2, 3}, {4, 5, 6}});
  const auto source = GradientsOfFile(path_);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Read(**source, 0, 0, 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(Read(**source, 1, 0, 3), ElementsAre(4, 5, 6));
  // 1000003 % 3 is 1.
  EXPECT_THAT(Read(**source, 2, 0, 3), ElementsAre(2, 3, 1));
  EXPECT_THAT(Read(**source, 5, 0, 3), ElementsAre(6, 4, 5));
  EXPECT_THAT(Read(**source, 6, 0, 3), ElementsAre(1, 2, 3));
  EXPECT_EQ(*GradientFileElements(path_), 3);
}

TEST_F(GradientsOfFileTest, LongerModelsBeginTheRowAnew) {
  Write({{1, 2, 3}});
  const auto source = GradientsOfFile(path_);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Read(**source, 0, 0, 7), ElementsAre(1, 2, 3, 1, 2, 3, 1));
  EXPECT_THAT(Read(**source, 0, 5, 2), ElementsAre(3, 1));
}

TEST_F(GradientsOfFileTest, ANumberThatIsNotFiniteIsNamedWithItsPlace) {
  Write({{1, 2, 3}, {4, std::numeric_limits<float>::infinity(), 6}});
  const auto source = GradientsOfFile(path_);
  ASSERT_TRUE(source.ok()) << source.status();
  std::vector<float> values(3);
  EXPECT_TRUE((*source)->Read(0, 0, absl::MakeSpan(values)).ok());
  EXPECT_EQ(
      (*source)->Read(1, 0, absl::MakeSpan(values)),
      absl::InvalidArgumentError(absl::StrCat(
          path_, ", row 1, element 1 (both from 0) is inf; must be finite")));
}

TEST_F(GradientsOfFileTest, AFileWithoutRowsIsRefused) {
  Write({});
  EXPECT_EQ(GradientsOfFile(path_).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(GradientFileElements(path_).status().message(),
              HasSubstr("has 0 rows of 3 elements; must have at least 1 of 1"));
}

TEST_F(GradientsOfFileTest, AFileThatIsNotThereIsNamed) {
  EXPECT_THAT(GradientsOfFile("/no/file.npy").status().message(),
              HasSubstr("/no/file.npy"));
}

}  // namespace
}  // namespace ps
