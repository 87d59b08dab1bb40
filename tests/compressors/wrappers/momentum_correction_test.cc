// Momentum correction against plain loops that know nothing of compression.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

constexpr double kMomentum = 0.8;
constexpr int64_t kSize = 2000;

HarnessOptions OptionsOf(double ratio, bool nesterov, bool factor_masking) {
  HarnessOptions options;
  options.config.set_name("dgc");
  options.config.set_ratio(ratio);
  MomentumCorrectionConfig* const momentum =
      options.config.mutable_momentum_correction();
  momentum->set_momentum(kMomentum);
  momentum->set_nesterov(nesterov);
  momentum->set_factor_masking(factor_masking);
  options.dense_size = kSize;
  return options;
}

// SGD with momentum as an optimizer does it: b <- m b + g, and a step along b,
// or along g + m b (Sutskever et al., ICML 2013, as in PyTorch). The compressor
// must not match mutations of it.
struct SgdVariant {
  bool nesterov = false;
  // The optimizer applies momentum too.
  bool momentum_twice = false;
};

std::vector<double> StepsOfSgd(const SgdVariant& variant, int iterations) {
  std::vector<double> buffer(kSize, 0.0);
  std::vector<double> second(kSize, 0.0);
  std::vector<double> sum(kSize, 0.0);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    const std::vector<float> gradient = MakeVector("laplace", kSize, iteration);
    for (int64_t i = 0; i < kSize; ++i) {
      buffer[i] = kMomentum * buffer[i] + gradient[i];
      double step = buffer[i];
      if (variant.nesterov) step = gradient[i] + kMomentum * buffer[i];
      second[i] = (variant.momentum_twice ? kMomentum * second[i] : 0) + step;
      sum[i] += second[i];
    }
  }
  return sum;
}

double LargestDifference(const std::vector<double>& a,
                         const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

TEST(MomentumCorrectionTest, SendingEverythingEqualsSgdWithMomentum) {
  constexpr int kIterations = 100;
  for (const bool nesterov : {false, true}) {
    Harness harness(OptionsOf(1, nesterov, /*factor_masking=*/false));
    std::vector<double> sum(kSize, 0.0);
    for (int iteration = 0; iteration < kIterations; ++iteration) {
      const std::vector<float> decoded = harness.Decode(
          harness.Compress(MakeVector("laplace", kSize, iteration)));
      for (int64_t i = 0; i < kSize; ++i) sum[i] += decoded[i];
    }
    SgdVariant variant;
    variant.nesterov = nesterov;
    EXPECT_LT(LargestDifference(sum, StepsOfSgd(variant, kIterations)), 1e-4);
    variant.nesterov = !nesterov;
    EXPECT_GT(LargestDifference(sum, StepsOfSgd(variant, kIterations)), 1);
    variant.nesterov = nesterov;
    variant.momentum_twice = true;
    EXPECT_GT(LargestDifference(sum, StepsOfSgd(variant, kIterations)), 1);
  }
}

// Equations 7 and 10 and the masking of the paper, in double.
struct PaperVariant {
  bool nesterov = false;
  bool mask_velocity = true;
  bool mask_residual = true;
};

// The largest difference over 40 iterations between a compressor's residual and
// the paper's v, given the elements that the compressor chose to send.
double DifferenceFromPaper(const HarnessOptions& options,
                           const PaperVariant& variant) {
  Harness harness(options);
  std::vector<double> velocity(kSize, 0.0);
  std::vector<double> residual(kSize, 0.0);
  double largest = 0;
  for (int iteration = 0; iteration < 40; ++iteration) {
    const std::vector<float> gradient = MakeVector("laplace", kSize, iteration);
    const EncodedGradient encoded = harness.Compress(gradient);
    for (int64_t i = 0; i < kSize; ++i) {
      const double g = gradient[i];
      if (variant.nesterov) {
        velocity[i] = kMomentum * (velocity[i] + g);
        residual[i] += velocity[i] + g;
      } else {
        velocity[i] = kMomentum * velocity[i] + g;
        residual[i] += velocity[i];
      }
    }
    const std::vector<float> decoded = harness.Decode(encoded);
    for (const int64_t i : harness.Positions(encoded)) {
      largest = std::max(largest, std::abs(decoded[i] - residual[i]));
      if (variant.mask_residual) residual[i] = 0;
      if (variant.mask_velocity) velocity[i] = 0;
    }
    const std::vector<float> kept = harness.residual();
    for (int64_t i = 0; i < kSize; ++i) {
      largest = std::max(largest, std::abs(kept[i] - residual[i]));
    }
  }
  return largest;
}

TEST(MomentumCorrectionTest, FollowsThePaperAndNoVariantOfIt) {
  for (const bool nesterov : {false, true}) {
    for (const bool masking : {false, true}) {
      HarnessOptions options = OptionsOf(0.05, nesterov, masking);
      options.part_ends = {kSize / 3, kSize / 3, kSize - 1, kSize};
      PaperVariant variant;
      variant.nesterov = nesterov;
      variant.mask_velocity = masking;
      EXPECT_LT(DifferenceFromPaper(options, variant), 1e-4);
      variant.mask_velocity = !masking;
      EXPECT_GT(DifferenceFromPaper(options, variant), 1) << "masking";
      variant.mask_velocity = masking;
      variant.nesterov = !nesterov;
      EXPECT_GT(DifferenceFromPaper(options, variant), 1) << "Nesterov";
      variant.nesterov = nesterov;
      variant.mask_residual = false;
      EXPECT_GT(DifferenceFromPaper(options, variant), 1) << "residual";
    }
  }
}

// With masking and ratio 1, all momentum is cleared at once.
TEST(MomentumCorrectionTest, MaskingEverythingLeavesPlainSgd) {
  Harness harness(OptionsOf(1, /*nesterov=*/false, /*factor_masking=*/true));
  for (int iteration = 0; iteration < 3; ++iteration) {
    const std::vector<float> gradient = MakeVector("laplace", kSize, iteration);
    EXPECT_EQ(harness.Decode(harness.Compress(gradient)), gradient);
  }
}

TEST(MomentumCorrectionTest, StateOfAnotherLengthIsRefused) {
  HarnessOptions options = OptionsOf(0.1, false, true);
  Harness harness(options);
  harness.Compress(MakeVector("laplace", kSize, 1));
  options.dense_size = kSize - 1;
  Harness shorter(options);
  const std::string before = shorter.compressor().SaveState();
  EXPECT_EQ(
      shorter.compressor().LoadState(harness.compressor().SaveState()).code(),
      absl::StatusCode::kDataLoss);
  EXPECT_EQ(shorter.compressor().SaveState(), before);
}

}  // namespace
}  // namespace ps
