#include "compressors/wrappers/ratio_warmup.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

constexpr int64_t kSize = 100000;

HarnessOptions OptionsOf(const std::string& config) {
  HarnessOptions options;
  options.config = CompressorConfigFrom(config);
  options.dense_size = kSize;
  return options;
}

// Returns the target counts of iterations 0, 1, ...
std::vector<int64_t> TargetCounts(const std::string& config, int iterations) {
  Harness harness(OptionsOf(config));
  std::vector<int64_t> counts;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    const EncodedGradient encoded =
        harness.Compress(MakeVector("laplace", kSize, iteration));
    EXPECT_EQ(encoded.stats.count, encoded.stats.target_count);
    counts.push_back(encoded.stats.target_count);
  }
  return counts;
}

TEST(RatioWarmupTest, QuartersUntilTheRatioIsReached) {
  EXPECT_EQ(TargetCounts("name: 'topk' ratio: 0.001 "
                         "warmup { stages: 4 iterations_per_stage: 2 }",
                         12),
            (std::vector<int64_t>{25000, 25000, 6250, 6250, 1562, 1562, 390,
                                  390, 100, 100, 100, 100}));
  // Ends early, and never goes below the ratio.
  EXPECT_EQ(TargetCounts("name: 'topk' ratio: 0.03 "
                         "warmup { stages: 3 iterations_per_stage: 1 }",
                         5),
            (std::vector<int64_t>{25000, 6250, 3000, 3000, 3000}));
  // Ends late: the last step is a long one.
  EXPECT_EQ(TargetCounts("name: 'topk' ratio: 0.001 "
                         "warmup { stages: 1 iterations_per_stage: 1 }",
                         2),
            (std::vector<int64_t>{25000, 100}));
  EXPECT_EQ(TargetCounts("name: 'topk' ratio: 0.5 "
                         "warmup { stages: 4 iterations_per_stage: 1 }",
                         2),
            (std::vector<int64_t>{50000, 50000}));
}

TEST(RatioWarmupTest, GeometricStepsAreEqualFactors) {
  const CompressorConfig config = CompressorConfigFrom(
      "ratio: 0.001 "
      "warmup { rule: GEOMETRIC stages: 5 iterations_per_stage: 10 }");
  // The ratios of the authors' code for five epochs.
  const double kRatios[] = {0.316, 0.1, 0.0316, 0.01, 0.00316, 0.001, 0.001};
  for (int stage = 0; stage < 7; ++stage) {
    for (const int iteration : {10 * stage, 10 * stage + 9}) {
      EXPECT_NEAR(WarmupRatio(config, iteration), kRatios[stage],
                  0.001 * kRatios[stage]);
    }
  }
  EXPECT_EQ(WarmupRatio(config, 50), 0.001);
}

TEST(RatioWarmupTest, DenseStagesSendEverythingAndKeepMomentum) {
  Harness harness(OptionsOf(
      "name: 'topk' ratio: 0.01 momentum_correction { momentum: 0.5 } "
      "warmup { rule: DENSE stages: 2 iterations_per_stage: 1 }"));
  const std::vector<float> gradient = MakeVector("laplace", kSize, 1);
  harness.Compress(gradient);
  const EncodedGradient second = harness.Compress(gradient);
  EXPECT_EQ(second.stats.count, kSize);
  const std::vector<float> sent = harness.Decode(second);
  for (int64_t i = 0; i < kSize; ++i) {
    ASSERT_EQ(sent[i], 0.5f * gradient[i] + gradient[i]);
    ASSERT_EQ(harness.residual()[i], 0);
  }
  EXPECT_EQ(harness.Compress(gradient).stats.count, kSize / 100);
}

TEST(RatioWarmupTest, ResidualIsKeptAcrossStages) {
  Harness harness(OptionsOf(
      "name: 'topk' ratio: 0.01 warmup { stages: 4 iterations_per_stage: 1 }"));
  for (int iteration = 0; iteration < 5; ++iteration) {
    const std::vector<float> gradient = MakeVector("laplace", kSize, iteration);
    const std::vector<float> before = harness.residual();
    const std::vector<float> sent = harness.Decode(harness.Compress(gradient));
    const std::vector<float> after = harness.residual();
    for (int64_t i = 0; i < kSize; ++i) {
      ASSERT_EQ(before[i] + gradient[i], sent[i] + after[i]);
    }
  }
}

// With the same key, a smaller draw would be part of a larger one.
TEST(RatioWarmupTest, StagesDoNotRepeatEachOthersDraws) {
  HarnessOptions options = OptionsOf(
      "name: 'randomk' ratio: 0.01 warmup { stages: 4 iterations_per_stage: 1 "
      "}");
  Harness harness(options);
  const std::vector<float> gradient = MakeVector("laplace", kSize, 1);
  const auto first = harness.Positions(harness.Compress(gradient));
  const auto second = harness.Positions(harness.Compress(gradient));
  ASSERT_EQ(first.size(), 25000u);
  ASSERT_EQ(second.size(), 6250u);
  std::vector<int64_t> both;
  std::set_intersection(first.begin(), first.end(), second.begin(),
                        second.end(), std::back_inserter(both));
  // A quarter of 6250, within six deviations.
  EXPECT_NEAR(static_cast<double>(both.size()), 6250 / 4.0, 6 * 34.2);
  options.worker_rank = 1;
  Harness other(options);
  EXPECT_NE(other.Positions(other.Compress(gradient)), first);
}

TEST(RatioWarmupTest, StagesOfOneRatioAreOneCompressor) {
  // From iteration 3 on both have ratio 0.01, but the second is still warming
  // up: its compressor is not replaced, since a new one would draw other
  // positions.
  const std::string config = "name: 'randomk' ratio: 0.01 ";
  Harness four(OptionsOf(config + "warmup { stages: 4 "
                                  "iterations_per_stage: 1 }"));
  Harness many(OptionsOf(config + "warmup { stages: 1000 "
                                  "iterations_per_stage: 1 }"));
  for (int iteration = 0; iteration < 8; ++iteration) {
    const std::vector<float> gradient = MakeVector("laplace", kSize, iteration);
    EXPECT_EQ(four.Positions(four.Compress(gradient)),
              many.Positions(many.Compress(gradient)));
  }
}

}  // namespace
}  // namespace ps
