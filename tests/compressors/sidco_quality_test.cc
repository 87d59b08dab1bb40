// Mean quality of the estimate (elements above the threshold over the target)
// on random samples of known laws, against tables that an independent
// implementation made with 5 samples of 2^20.
#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

constexpr int64_t kSize = int64_t{1} << 20;
constexpr double kRatios[] = {0.1, 0.01, 0.001};

struct LawRow {
  const char* law;
  double plain[3][3];      // [ratio][stages - 1]
  double corrected[3][2];  // [ratio][stages - 2]
};

constexpr LawRow kLaws[] = {
    {"laplace",
     {{0.999, 0.999, 0.999}, {0.997, 0.997, 0.998}, {0.993, 0.995, 0.992}},
     {{1.000, 1.000}, {0.998, 0.999}, {0.996, 0.994}}},
    {"gamma 0.5",
     {{1.292, 0.924, 0.907}, {3.180, 1.096, 0.946}, {8.499, 1.471, 1.065}},
     {{0.965, 0.979}, {1.141, 0.994}, {1.528, 1.023}}},
    {"GP 0.2",
     {{1.030, 0.806, 0.764}, {2.174, 1.181, 0.769}, {6.648, 2.942, 1.189}},
     {{0.894, 0.936}, {1.267, 0.913}, {3.115, 1.168}}},
    {"gaussian",
     {{0.662, 1.168, 1.212}, {0.024, 0.631, 1.132}, {0.000, 0.097, 0.679}},
     {{1.085, 1.064}, {0.566, 1.021}, {0.084, 0.915}}},
};

// Four standard deviations of the difference between one sample and the mean of
// five. `quality` is a count over the target, so at least its Poisson noise is
// there; the fit adds to it.
double Tolerance(double quality, double ratio) {
  const double poisson =
      std::sqrt(std::max(quality, 0.1) / (ratio * static_cast<double>(kSize)));
  const double fit = ratio == 0.1 ? 0.002 : ratio == 0.01 ? 0.007 : 0.02;
  const double deviation = std::max(poisson, fit * std::max(quality, 1.0));
  return 4 * deviation * std::sqrt(1 + 1.0 / 5) + 0.0005;  // Rounded tables.
}

class SidcoQualityTest : public testing::TestWithParam<LawRow> {};

TEST_P(SidcoQualityTest, MatchesTheReference) {
  const LawRow& row = GetParam();
  const std::vector<float> gradient = DrawLaw(row.law, kSize, 20240607);
  const auto quality = [&gradient](double ratio, int stages, bool corrected) {
    HarnessOptions options;
    options.config = CompressorConfigFrom(absl::StrCat(
        "name: 'sidco_e' sidco { profile: PAPER stages: ", stages,
        " count_correction: ", corrected ? "true" : "false", " }"));
    options.config.set_ratio(ratio);
    options.dense_size = kSize;
    Harness harness(options);
    const CompressionStats stats = harness.Compress(gradient).stats;
    return static_cast<double>(stats.raw_count) / (ratio * kSize);
  };
  for (int r = 0; r < 3; ++r) {
    for (int stages = 1; stages <= 3; ++stages) {
      SCOPED_TRACE(testing::Message()
                   << "ratio " << kRatios[r] << ", " << stages << " stages");
      const double plain = row.plain[r][stages - 1];
      EXPECT_NEAR(quality(kRatios[r], stages, false), plain,
                  Tolerance(plain, kRatios[r]));
      if (stages == 1) continue;
      const double corrected = row.corrected[r][stages - 2];
      EXPECT_NEAR(quality(kRatios[r], stages, true), corrected,
                  Tolerance(corrected, kRatios[r]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllLaws, SidcoQualityTest, testing::ValuesIn(kLaws),
                         [](const testing::TestParamInfo<LawRow>& info) {
                           return absl::StrCat("Law", info.index);
                         });

// What the user gets: adaptive, count-corrected, with error feedback. Judged
// after the first 20 iterations, over what was sent.
TEST(SidcoTrainingTest, RobustProfileHoldsTheRatioUnderErrorFeedback) {
  constexpr int64_t kVector = int64_t{1} << 15;
  for (const double ratio : {0.1, 0.01}) {
    for (const char* law : {"laplace", "gamma 0.5", "gaussian"}) {
      SCOPED_TRACE(testing::Message() << law << ", ratio " << ratio);
      HarnessOptions options;
      options.config = CompressorConfigFrom("name: 'sidco_e'");
      options.config.set_ratio(ratio);
      options.dense_size = kVector;
      Harness harness(options);
      double sum = 0;
      constexpr int kIterations = 320;
      for (int i = 0; i < kIterations; ++i) {
        const EncodedGradient encoded =
            harness.Compress(DrawLaw(law, kVector, i));
        if (i >= 20) sum += static_cast<double>(encoded.stats.count);
      }
      const double mean = sum / (kIterations - 20) / (ratio * kVector);
      EXPECT_NEAR(mean, 1, 0.2);
    }
  }
}

}  // namespace
}  // namespace ps
