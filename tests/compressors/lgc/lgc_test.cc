// Compressor "lgc" with its part at the servers, without a network.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/lgc/autoencoder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compressors/lgc/lgc_cluster.h"
#include "tests/compressors/lgc/reference_lgc.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

TEST(Lgc, GoesThroughItsPhases) {
  constexpr int kWorkers = 3;
  constexpr int kTraining = 60;
  LgcCluster cluster(TestedLgc(), kWorkers);
  Reference reference(kWorkers);
  ReferenceAutoencoder autoencoder(kWorkers);
  int64_t first_coded = -1;
  int64_t coded = 0;
  double worst = 0;
  double encoder_bytes = 0;
  for (int t = 0; t < 120; ++t) {
    std::vector<std::vector<float>> gradients;
    for (int rank = 0; rank < kWorkers; ++rank) {
      gradients.push_back(cluster.Gradient(rank));
    }
    const LgcIteration sent = cluster.Iterate();
    const int64_t plain = static_cast<int64_t>(sent.indices.size()) - kCoded;
    if (sent.coded && first_coded < 0) first_coded = t;
    coded += sent.coded ? 1 : 0;
    std::vector<std::vector<float>> values;
    for (int rank = 0; rank < kWorkers; ++rank) {
      values.push_back(reference.Values(rank, gradients[rank], sent.indices));
    }
    autoencoder.Take(sent.indices, values, LeaderOf(t, kWorkers));
    if (t < kTraining) autoencoder.Train();
    double left = 0, total = 0;
    for (int rank = 0; rank < kWorkers; ++rank) {
      // Residuals are cleared where something is sent, and only there.
      EXPECT_EQ(cluster.worker(rank).residual(), reference.residual(rank));
      EXPECT_EQ(
          sent.decoded[rank],
          sent.coded ? autoencoder.Decoded(rank, values[rank]) : values[rank])
          << t;
      for (size_t i = 0; sent.coded && i < values[rank].size(); ++i) {
        const uint32_t at = sent.indices[i];
        if (at < kFirst || at >= kFirst + kMiddle) continue;
        left += std::pow(sent.decoded[rank][i] - values[rank][i], 2);
        total += std::pow(values[rank][i], 2);
      }
      // Section 6 of the specification: of every coded value the leader sends a
      // number of its code for four, and a sign; everyone a hundredth of them.
      constexpr int64_t kHeader = 32 + 4;
      constexpr int64_t kInnovation = 4 + (5 * 9 + 7) / 8 + 5 * 4;
      constexpr int64_t kRemark = 4 + 4 + 8 + 4 + 4 + (kCoded + 7) / 8;
      if (!sent.coded) continue;
      const bool leads = rank == LeaderOf(t, kWorkers);
      const int64_t expected = kHeader + 4 * plain + kInnovation +
                               (leads ? kRemark + 4 * CodeLength(kCoded) : 0);
      // The leader's positions come on top: 4 bits each, in two runs.
      EXPECT_GE(sent.bytes[rank], expected);
      EXPECT_LE(sent.bytes[rank], expected + (leads ? 5 * 8 + 270 : 0));
    }
    if (total > 0) worst = std::max(worst, left / total);
    if (sent.bytes_down > 600000) {
      encoder_bytes += static_cast<double>(sent.bytes_down);
    }
  }
  for (const std::string& line : cluster.news()) std::cout << line << '\n';
  std::cout << "largest error of codes " << worst << '\n';
  // 60 iterations train; the error of the last is known one later, and the
  // leader after that has no encoder yet.
  EXPECT_EQ(first_coded, 62);
  EXPECT_EQ(coded, 120 - 62 - 5);
  EXPECT_LT(worst, 0.95);
  // Each worker gets the encoder once.
  EXPECT_NEAR(encoder_bytes, 3 * 4 * 172996, 30000);
  EXPECT_EQ(cluster.news().size(), 2u);
  EXPECT_THAT(cluster.news()[1], HasSubstr("codes of autoencoder 1"));
}

// Killed in training, at the decision, before and after each worker has the
// encoder, and later.
TEST(Lgc, RepeatsAndGoesOnBitByBit) {
  for (const int again : {-1, 5, 10, 11, 12, 13, 21, 24}) {
    LgcCluster one(EarlyLgc(), 2);
    LgcCluster two(EarlyLgc(), 2);
    std::string phases;
    for (int t = 0; t < 28; ++t) {
      if (t == again) two.StartAgain();
      const LgcIteration first = one.Iterate();
      const LgcIteration second = two.Iterate();
      phases += first.coded ? 'c' : 'v';
      ASSERT_EQ(first.decoded, second.decoded) << again << ", " << t;
      ASSERT_EQ(first.bytes, second.bytes) << again << ", " << t;
      ASSERT_EQ(first.bytes_down, second.bytes_down) << again << ", " << t;
    }
    EXPECT_EQ(one.news(), two.news());
    EXPECT_EQ(phases, "vvvvvvvvvvvvcccccccccvcccccc");
  }
}

TEST(Lgc, StaysWithValuesWhereTheGateRefuses) {
  CompressorConfig config = TestedLgc();
  config.mutable_lgc()->set_gate_error(0.1);
  config.mutable_lgc()->set_train_iterations(10);
  LgcCluster cluster(config, 2);
  for (int t = 0; t < 60; ++t) EXPECT_FALSE(cluster.Iterate().coded);
  ASSERT_EQ(cluster.news().size(), 3u);
  EXPECT_THAT(cluster.news()[1], HasSubstr("10: values are still sent"));
  EXPECT_THAT(cluster.news()[2], HasSubstr("50: values are still sent"));
}

// Check 5 of the specification: the values' positions say nothing here, and a
// network that is to learn their signs by position learns nothing. By sign the
// gate opens: GoesThroughItsPhases.
TEST(Lgc, StaysWithValuesAtShuffledPositions) {
  CompressorConfig config = TestedLgc();
  config.mutable_lgc()->set_order(LgcConfig::INDEX);
  LgcCluster cluster(config, 3);
  for (int t = 0; t < 102; ++t) EXPECT_FALSE(cluster.Iterate().coded);
  for (const std::string& line : cluster.news()) std::cout << line << '\n';
  ASSERT_EQ(cluster.news().size(), 3u);
  EXPECT_THAT(cluster.news()[2], HasSubstr("100: values are still sent"));
}

TEST(Lgc, GivesAWorkerThatHasLostItTheEncoderAgain) {
  LgcCluster cluster(EarlyLgc(), 2);
  std::string phases;
  int64_t most_down = 0;
  for (int t = 0; t < 28; ++t) {
    if (t == 14) cluster.Forget(1);
    const LgcIteration sent = cluster.Iterate();
    phases += sent.coded ? 'c' : 'v';
    if (t == 16) most_down = sent.bytes_down;
    EXPECT_TRUE(t <= 16 || sent.bytes_down < 4 * 172996) << t;
  }
  // Worker 1 leads in iteration 15; the values in 21 are the watchdog's.
  EXPECT_EQ(phases, "vvvvvvvvvvvvcccvcccccvcccccc");
  EXPECT_GT(most_down, 4 * 172996);
  EXPECT_THAT(cluster.news(),
              testing::Contains(HasSubstr(
                  "15: the leader has sent values instead of a code")));
}

TEST(Lgc, FallsBackWhenTheErrorGrows) {
  CompressorConfig config = EarlyLgc();
  config.mutable_lgc()->set_check_error(0.01);
  LgcCluster cluster(config, 2);
  std::string phases;
  for (int t = 0; t < 32; ++t) phases += cluster.Iterate().coded ? 'c' : 'v';
  // The error on the values of iteration 10 is known when the next leader has
  // been told to send a code; then the autoencoder is trained for 15
  // iterations.
  EXPECT_EQ(phases, "vvvvvvvvvvvvcvvvvvvvvvvvvvvvvcvv");
  EXPECT_THAT(cluster.news(), testing::Contains(HasSubstr("train the autoenco"
                                                          "der again")));
}

TEST(Lgc, TrainsAgainWithOtherWorkers) {
  LgcCluster cluster(EarlyLgc(), 2);
  for (int t = 0; t < 14; ++t) cluster.Iterate();
  EXPECT_TRUE(cluster.Iterate().coded);
  // With more workers an epoch has fewer iterations, and so have all before.
  cluster.ChangeWorkers(3, 10);
  EXPECT_THAT(cluster.news().back(),
              HasSubstr("the number of workers has changed"));
  std::string phases;
  for (int t = 0; t < 20; ++t) phases += cluster.Iterate().coded ? 'c' : 'v';
  EXPECT_EQ(phases.find('c'), 17u) << phases;
}

// Of the middle tensor 1 in 25 is sent, which is more than the ratio.
TEST(Lgc, CodesTensorsWithARateOfTheirOwn) {
  CompressorConfig config = EarlyLgc();
  config.set_ratio(0.01);
  config.mutable_lgc()->set_min_values(64);
  config.mutable_scalecom()->set_rates(ScaleComConfig::BY_USES);
  LgcCluster cluster(config, 2);
  int iterations = 0;
  while (!cluster.Iterate().coded) ASSERT_LT(++iterations, 30);
}

// Where exact selection takes more from a part than servers allow, its values
// are sent.
TEST(Lgc, SendsTooManyValuesUncoded) {
  HarnessOptions options;
  options.config = EarlyLgc();
  options.config.mutable_scalecom()->set_selection(ScaleComConfig::EXACT);
  options.config.mutable_lgc()->set_min_values(64);
  options.dense_size = kMiddle;
  options.tensors.resize(1);
  options.tensors[0].shape = {64, 64};
  options.part_ends = {kMiddle / 4, kMiddle};
  SharedPositions positions;
  options.num_workers = 2;
  options.shared_positions = &positions;
  Harness worker(options);
  std::vector<float> even(kMiddle);
  for (int64_t i = 0; i < kMiddle; ++i) even[i] = i % 10 == 0 ? 1.0f : 0.01f;
  EXPECT_TRUE(CodedByCompressor({worker.Compress(even).parts[0].span()}));
  std::vector<float> uneven(kMiddle, 0.01f);
  std::fill_n(uneven.begin(), kMiddle / 4, 100.0f);
  EXPECT_FALSE(CodedByCompressor({worker.Compress(uneven).parts[0].span()}));
}

TEST(Lgc, SendsAFewValuesUncoded) {
  CompressorConfig config = TestedLgc();
  config.mutable_lgc()->set_min_values(kCoded + 1);
  LgcCluster cluster(config, 2);
  for (int t = 0; t < 5; ++t) {
    cluster.Iterate();
    EXPECT_EQ(cluster.coder().RemarksFor(0, t).size(), 8u);
  }
  ASSERT_EQ(cluster.news().size(), 1u);
  EXPECT_THAT(cluster.news()[0], HasSubstr("fewer than lgc.min_values, 411"));
}

}  // namespace
}  // namespace ps
