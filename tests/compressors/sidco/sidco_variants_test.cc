// SIDCo against plain loops, and against variants with errors that are easy to
// make: most of them change thresholds too little to notice in the achieved
// ratio.
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

constexpr int kStages = 3;

struct Variant {
  bool pareto = false;  // sidco_p instead of sidco_e.
  // Exceedances are measured from the smallest of them, as in SIDCo's code,
  // instead of from the threshold.
  bool smallest_as_origin = false;
  // All stages aim at the same ratio, instead of the first at 1/4.
  bool equal_stages = false;
  // Statistics of the elements instead of their magnitudes.
  bool signed_statistics = false;
};

double Threshold(const Variant& variant, const std::vector<double>& y,
                 double density) {
  double mean = 0;
  double variance = 0;
  const double n = static_cast<double>(y.size());
  for (const double each : y) mean += each / n;
  if (!variant.pareto) return mean * std::log(1 / density);
  for (const double each : y) variance += (each - mean) * (each - mean) / n;
  const double rho = mean * mean / variance;
  const double xi = (1 - rho) / 2;
  return mean * (1 + rho) / 2 / xi * (std::pow(density, -xi) - 1);
}

double PlainSidco(const Variant& variant, double ratio,
                  const std::vector<float>& u) {
  std::vector<double> a;
  for (const float x : u) {
    a.push_back(variant.signed_statistics ? x : std::fabs(x));
  }
  double first = 0.25;
  double later = std::pow(ratio / 0.25, 1.0 / (kStages - 1));
  if (variant.equal_stages) first = later = std::pow(ratio, 1.0 / kStages);
  double eta = Threshold(variant, a, first);
  for (int stage = 2; stage <= kStages; ++stage) {
    std::vector<double> exceedances;
    double smallest = INFINITY;
    for (const float x : u) {
      const double magnitude = std::fabs(x);
      if (!(magnitude > eta)) continue;
      exceedances.push_back(magnitude);
      smallest = std::min(smallest, magnitude);
    }
    const double origin = variant.smallest_as_origin ? smallest : eta;
    for (double& each : exceedances) each -= origin;
    eta = origin + Threshold(variant, exceedances, later);
  }
  return eta;
}

// The relative difference between the thresholds of the compressor and the
// variant; the maximum over the golden vectors.
double Difference(const Variant& variant) {
  double largest = 0;
  for (const char name : {'A', 'B', 'C', 'D'}) {
    const std::vector<float> u = GoldenVector(name);
    HarnessOptions options;
    options.config = CompressorConfigFrom(absl::StrCat(
        "name: '", variant.pareto ? "sidco_p" : "sidco_e",
        "' ratio: 0.001 sidco { profile: PAPER stages: ", kStages, " }"));
    options.dense_size = static_cast<int64_t>(u.size());
    Harness harness(options);
    const CompressionStats stats = harness.Compress(u).stats;
    const double expected = PlainSidco(variant, 0.001, u);
    largest =
        std::max(largest, std::abs(stats.threshold - expected) / expected);
  }
  return largest;
}

TEST(SidcoVariantsTest, ThresholdEqualsPlainLoopsAndNoWrongVariant) {
  constexpr double kRounding = 1e-6;
  for (const bool pareto : {false, true}) {
    Variant right;
    right.pareto = pareto;
    EXPECT_LT(Difference(right), kRounding);
    Variant wrong = right;
    wrong.smallest_as_origin = true;
    EXPECT_GT(Difference(wrong), 10 * kRounding) << "origin";
    wrong = right;
    wrong.equal_stages = true;
    EXPECT_GT(Difference(wrong), 1e-3) << "schedule";
    wrong = right;
    wrong.signed_statistics = true;
    EXPECT_GT(Difference(wrong), 0.1) << "statistics";
  }
}

struct Settled {
  double stages = 0;
  double quality = 0;
};

// The mean over the last half of 80 gradients that are independent of each
// other; the residual is dropped.
Settled Settle(const std::string& config, const std::string& law) {
  constexpr int64_t kSize = int64_t{1} << 18;
  constexpr double kRatio = 0.001;
  constexpr int kVectors = 8;
  std::vector<std::vector<float>> gradients;
  for (int i = 0; i < kVectors; ++i) {
    gradients.push_back(DrawLaw(law, kSize, 100 + i));
  }
  HarnessOptions options;
  options.config = CompressorConfigFrom(config);
  options.config.set_ratio(kRatio);
  options.dense_size = kSize;
  Harness harness(options);
  const std::vector<float> nothing(kSize, 0.0f);
  Settled settled;
  for (int i = 0; i < 80; ++i) {
    const CompressionStats stats =
        harness.Compress(gradients[i % kVectors]).stats;
    harness.set_residual(nothing);
    if (i < 40) continue;
    settled.stages += stats.stages / 40.0;
    settled.quality +=
        static_cast<double>(stats.raw_count) / (kRatio * kSize) / 40;
  }
  return settled;
}

// Where one stage selects nothing, exact top-k is sent instead. If the
// controller saw what was sent, it would stay at one stage for ever.
TEST(SidcoControllerTest, SeesTheEstimateAndNotWhatWasSentInItsPlace) {
  const Settled settled =
      Settle("name: 'sidco_e' sidco { profile: PAPER }", "gaussian");
  EXPECT_NEAR(settled.stages, 4, 0.3);
  EXPECT_NEAR(settled.quality, 1.05, 0.1);
}

// The same for what the overshoot cap removes: one stage selects 8.6 times too
// many. With rule FIXED it stays that way.
TEST(SidcoControllerTest, LeavesOneStageThatSelectsTooManyUnlessFixed) {
  const std::string paper = "name: 'sidco_e' sidco { profile: PAPER ";
  const Settled fixed = Settle(paper + "}", "gamma 0.5");
  EXPECT_NEAR(fixed.stages, 1, 1e-9);
  EXPECT_NEAR(fixed.quality, 8.59, 0.3);
  for (const char* rule : {"REVERSE", "PROBE"}) {
    const Settled settled =
        Settle(absl::StrCat(paper, "rule: ", rule, " overshoot_cap: 4 }"),
               "gamma 0.5");
    EXPECT_NEAR(settled.stages, 3, 0.3) << rule;
    EXPECT_NEAR(settled.quality, 1.08, 0.1) << rule;
  }
}

}  // namespace
}  // namespace ps
