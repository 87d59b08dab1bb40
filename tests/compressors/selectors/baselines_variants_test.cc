// RedSync and GaussianKSGD at every setting against plain loops, and against
// variants with errors that are easy to make.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

constexpr int64_t kSize = 100000;
// 0.03 is not in the golden table, which cannot distinguish GaussianKSGD's band
// of 2/3 to 4/3 from a wider one.
constexpr double kRatios[] = {0.1, 0.03, 0.01, 0.001};
constexpr int kCells = 4 * 4;

int64_t CountAbove(const std::vector<float>& u, double threshold) {
  return std::count_if(u.begin(), u.end(), [threshold](float x) {
    return std::fabs(x) > threshold;
  });
}

struct Choice {
  double threshold = 0;
  int64_t count = 0;
};

Choice ChoiceOf(const std::string& config, double ratio,
                const std::vector<float>& gradient) {
  HarnessOptions options;
  options.config = CompressorConfigFrom(config);
  options.config.set_ratio(ratio);
  options.dense_size = static_cast<int64_t>(gradient.size());
  Harness harness(options);
  const CompressionStats stats = harness.Compress(gradient).stats;
  EXPECT_EQ(stats.fallback, "") << config;
  return {stats.threshold, stats.raw_count};
}

bool Same(const Choice& a, const Choice& b) {
  return a.count == b.count &&
         std::abs(a.threshold - b.threshold) <= 1e-6 * b.threshold;
}

struct GaussiankVariant {
  bool absolute = false;
  int evaluations = 3;
  // Also corrects after the last evaluation.
  bool corrects_last = false;
  // Corrects outside [1/2, 2] instead of [2/3, 4/3].
  bool wide_band = false;
};

Choice PlainGaussiank(const GaussiankVariant& variant, double ratio,
                      const std::vector<float>& u) {
  const double n = static_cast<double>(u.size());
  double mean = 0;
  for (const float x : u) mean += (variant.absolute ? std::fabs(x) : x) / n;
  double variance = 0;
  for (const float x : u) {
    const double z = (variant.absolute ? std::fabs(x) : x) - mean;
    variance += z * z / (n - 1);
  }
  // The normal law's quantile, by bisection of its tail.
  double low = 0;
  double high = 10;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) > ratio ? low : high) = middle;
  }
  double threshold = mean + std::sqrt(variance) * low;
  const double k = std::floor(ratio * n);
  for (int i = 1; i <= variant.evaluations; ++i) {
    const double count = static_cast<double>(CountAbove(u, threshold));
    if (i == variant.evaluations && !variant.corrects_last) break;
    if (count < k * (variant.wide_band ? 0.5 : 2.0 / 3)) {
      threshold *= 0.5;
    } else if (count > k * (variant.wide_band ? 2 : 4.0 / 3)) {
      threshold *= 1.5;
    } else {
      break;
    }
  }
  return {threshold, CountAbove(u, threshold)};
}

// How many of kCells cells differ between the compressor and `variant`.
int GaussiankDifferences(const GaussiankVariant& config,
                         const GaussiankVariant& variant) {
  int differences = 0;
  for (const char vector : {'A', 'B', 'C', 'D'}) {
    const std::vector<float> u = GoldenVector(vector);
    for (const double ratio : kRatios) {
      const Choice choice =
          ChoiceOf(absl::StrCat("name: 'gaussiank' gaussiank { statistics: ",
                                config.absolute ? "ABSOLUTE" : "SIGNED",
                                " evaluations: ", config.evaluations, " }"),
                   ratio, u);
      if (!Same(choice, PlainGaussiank(variant, ratio, u))) ++differences;
    }
  }
  return differences;
}

TEST(GaussiankTest, EverySettingEqualsPlainLoops) {
  for (const bool absolute : {false, true}) {
    for (const int evaluations : {1, 2, 3, 5}) {
      GaussiankVariant variant;
      variant.absolute = absolute;
      variant.evaluations = evaluations;
      EXPECT_EQ(GaussiankDifferences(variant, variant), 0)
          << absolute << " " << evaluations;
    }
  }
}

TEST(GaussiankTest, WrongVariantsDiffer) {
  const GaussiankVariant right;
  GaussiankVariant wrong = right;
  wrong.absolute = true;
  EXPECT_EQ(GaussiankDifferences(right, wrong), kCells) << "other statistics";
  wrong = right;
  wrong.evaluations = 5;
  EXPECT_GT(GaussiankDifferences(right, wrong), 0) << "more evaluations";
  wrong = right;
  wrong.corrects_last = true;
  EXPECT_GT(GaussiankDifferences(right, wrong), 0) << "one more correction";
  wrong = right;
  wrong.wide_band = true;
  EXPECT_GT(GaussiankDifferences(right, wrong), 0) << "another band";
}

struct RedsyncVariant {
  bool trimmed = false;
  double step = 0.2;
  bool fixed_step = false;
  // Measures places between 0, instead of the mean, and the largest magnitude.
  bool from_zero = false;
};

Choice PlainRedsync(const RedsyncVariant& variant, double ratio,
                    const std::vector<float>& u) {
  double mean = 0;
  double max = 0;
  for (const float x : u) {
    mean += std::fabs(x) / static_cast<double>(u.size());
    max = std::max(max, double{std::fabs(x)});
  }
  const double k = std::floor(ratio * static_cast<double>(u.size()));
  const double origin = variant.from_zero ? 0 : mean;
  const auto at = [&](double t) { return origin + t * (max - origin); };
  Choice choice;
  const auto try_at = [&](double t) {
    choice = {at(t), CountAbove(u, at(t))};
    return static_cast<double>(choice.count);
  };
  if (variant.trimmed) {
    for (int i = 1; try_at(1 - i * variant.step) < k; ++i) {
    }
    return choice;
  }
  double low = 0;
  double high = 1;
  while (high - low > variant.step) {
    const double t = (low + high) / 2;
    const double count = try_at(t);
    if (count > k && count < 2 * k) break;
    (count < (variant.fixed_step ? k + 1 : k / 2) ? high : low) = t;
  }
  return choice;
}

int RedsyncDifferences(const RedsyncVariant& config,
                       const RedsyncVariant& variant) {
  int differences = 0;
  for (const char vector : {'A', 'B', 'C', 'D'}) {
    const std::vector<float> u = GoldenVector(vector);
    for (const double ratio : kRatios) {
      const Choice choice = ChoiceOf(
          absl::StrCat(
              "name: 'redsync' redsync { search: ",
              config.trimmed ? "TRIMMED" : "BISECTION", " step: ", config.step,
              " fixed_step: ", config.fixed_step ? "true" : "false", " }"),
          ratio, u);
      if (!Same(choice, PlainRedsync(variant, ratio, u))) ++differences;
    }
  }
  return differences;
}

TEST(RedsyncTest, EverySettingEqualsPlainLoops) {
  for (const double step : {0.2, 0.05, 0.01}) {
    for (const bool fixed_step : {false, true}) {
      RedsyncVariant variant;
      variant.step = step;
      variant.fixed_step = fixed_step;
      EXPECT_EQ(RedsyncDifferences(variant, variant), 0)
          << step << " " << fixed_step;
    }
    RedsyncVariant trimmed;
    trimmed.trimmed = true;
    trimmed.step = step;
    EXPECT_EQ(RedsyncDifferences(trimmed, trimmed), 0) << step;
  }
}

TEST(RedsyncTest, WrongVariantsDiffer) {
  const RedsyncVariant right;
  RedsyncVariant wrong = right;
  wrong.trimmed = true;
  EXPECT_GT(RedsyncDifferences(right, wrong), 6) << "the other search";
  wrong = right;
  wrong.step = 0.05;
  EXPECT_GT(RedsyncDifferences(right, wrong), 0) << "more than three trials";
  wrong = right;
  wrong.fixed_step = true;
  EXPECT_GT(RedsyncDifferences(right, wrong), 0) << "the fixed step";
  wrong = right;
  wrong.from_zero = true;
  EXPECT_EQ(RedsyncDifferences(right, wrong), kCells) << "another origin";
}

// Checks how counts are rounded: k_s of a whole sample is ceil(0.07 x 100) = 7,
// although the product is 7.000000000000001; 6 elements exceed the 7th largest.
TEST(DgcTest, RoundingOfAProductDoesNotShowInTheSample) {
  std::vector<float> u(100);
  for (int i = 0; i < 100; ++i) u[i] = static_cast<float>(i % 2 ? i : -i);
  const Choice choice =
      ChoiceOf("name: 'dgc' dgc { sample_ratio: 1 }", 0.07, u);
  EXPECT_GT(0.07 * 100, 7);
  EXPECT_EQ(choice.threshold, 93);
  EXPECT_EQ(choice.count, 6);
}

// Selects elements larger than the threshold, as in SIDCo's comparison. The
// authors' own code and GRACE select elements at least as large, and adapt the
// threshold when too few are selected.
TEST(DgcTest, TakesWhatIsLargerAndAdaptsNothing) {
  std::vector<float> u(1000, 1.0f);
  for (int i = 0; i < 10; ++i) u[i] = 2;
  // The 20th largest is a 1, as are 989 others.
  const Choice choice =
      ChoiceOf("name: 'dgc' dgc { sample_ratio: 1 }", 0.02, u);
  EXPECT_EQ(choice.threshold, 1);
  EXPECT_EQ(choice.count, 10);
}

// The mean of equal magnitudes is the largest of them, so every threshold of the
// descent selects all or none. As published, all are sent.
TEST(Redsync, SendsAllOfEqualMagnitudesUnlessTheTailIsExact) {
  for (const bool exact : {false, true}) {
    HarnessOptions options;
    options.config = CompressorConfigFrom(
        absl::StrCat("name: \"redsync\" ratio: 0.01 redsync { search: TRIMMED "
                     "exact_tail: ",
                     exact ? "true" : "false", " }"));
    options.dense_size = 1000;
    Harness harness(options);
    const auto stats =
        harness.Compress(std::vector<float>(1000, -0.25f)).stats;
    EXPECT_EQ(stats.count, exact ? 10 : 1000);
  }
}

}  // namespace
}  // namespace ps
