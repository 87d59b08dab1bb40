#include "tools/advise/scaling.h"

#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace ps {
namespace {

double Independent(int workers) { return 1 - std::pow(0.99, workers); }

TEST(UnionShare, OfWorkersThatChooseAlikeOrIndependently) {
  EXPECT_NEAR(UnionShare(0.01, 0.01, 0.01, 1000), 0.01, 1e-9);
  EXPECT_NEAR(UnionShare(0.01, Independent(2), Independent(4), 8),
              Independent(8), 1e-9);
  // Beyond that, as from noise.
  EXPECT_NEAR(UnionShare(0.01, 0.5, 0.6, 8), Independent(8), 1e-9);
  EXPECT_NEAR(UnionShare(0.01, 0.005, 0.004, 8), 0.01, 1e-9);
}

TEST(UnionShare, HasTheMeasuredValues) {
  EXPECT_NEAR(UnionShare(0.01, 0.018, 0.031, 1), 0.01, 1e-9);
  EXPECT_NEAR(UnionShare(0.01, 0.018, 0.031, 2), 0.018, 1e-9);
  EXPECT_NEAR(UnionShare(0.01, 0.018, 0.031, 4), 0.031, 1e-9);
}

// Chances of elements are drawn, and then who sends them.
TEST(UnionShare, OfDrawsIsThatOfTheLaw) {
  constexpr int kElements = 1'000'000;
  std::mt19937 random(1);
  std::gamma_distribution<double> a(0.3), b(29.7);  // A mean of 0.01.
  std::uniform_real_distribution<double> uniform;
  const std::vector<int> counts = {1, 2, 4, 16, 64};
  std::vector<int> sent(counts.size());
  for (int i = 0; i < kElements; ++i) {
    const double x = a(random);
    // Every worker sends one in 500.
    const double chance = i % 500 == 0 ? 1 : x / (x + b(random));
    int first = 1;  // The first worker that sends it.
    while (first <= counts.back() && uniform(random) >= chance) ++first;
    for (size_t c = 0; c < counts.size(); ++c) sent[c] += first <= counts[c];
  }
  const auto share = [&sent](size_t c) { return sent[c] / double{kElements}; };
  for (const size_t c : {3, 4}) {
    EXPECT_NEAR(UnionShare(share(0), share(1), share(2), counts[c]), share(c),
                0.07 * share(c));
  }
}

// 1,000 elements, of which a worker sends 10.
ScalingMeasures Measures() {
  ScalingMeasures measures;
  LocalMeasures& one = measures.one;
  one.compute = 6;
  one.codec = 1;
  one.apply = 0.25;
  one.bytes_up = one.bytes_down = 100;
  one.achieved_ratio = 0.01;
  one.num_parameters = 1000;
  one.latency = 0.125;
  one.processors = 2;
  measures.two = measures.four = one;
  measures.two.bytes_down = 2 * 180;
  measures.four.bytes_up = 400;
  measures.four.bytes_down = 4 * 300;
  measures.four.server = 3;
  measures.four.server_sum = 2;
  measures.four.messages = 16;
  return measures;
}

TEST(AnswerBytes, GrowUntilAllComesBack) {
  const ScalingMeasures measures = Measures();
  EXPECT_NEAR(AnswerBytes(measures, 4), 300, 1e-6);
  // No law gives exactly these two as well.
  EXPECT_NEAR(AnswerBytes(measures, 1), 100, 2);
  EXPECT_NEAR(AnswerBytes(measures, 2), 180, 4);
  double last = 300;
  for (const int workers : {8, 64, 1000}) {
    const double bytes = AnswerBytes(measures, workers);
    EXPECT_GT(bytes, last) << workers;
    last = bytes;
  }
  // 100 bytes are 800 bits, of which the positions of 10 of 1,000 take 81, and
  // leave 72 bits for each value.
  EXPECT_LT(last, 1000 * 72 / 8.0);
}

TEST(AnswerBytes, AreThoseMeasuredIfAllIsSentOrNothingGrows) {
  ScalingMeasures dense = Measures();
  dense.one.achieved_ratio = 1;
  EXPECT_EQ(AnswerBytes(dense, 1000), 300);
  ScalingMeasures shared = Measures();
  shared.two.bytes_down = 2 * shared.one.bytes_down;
  shared.four.bytes_down = 4 * shared.one.bytes_down;
  EXPECT_NEAR(AnswerBytes(shared, 1000), 100, 1e-6);
}

TEST(ScaledMeasures, GrowWithWorkersAndAreDividedAmongServers) {
  const ScalingMeasures measures = Measures();
  Scale scale;
  scale.workers = 8;
  scale.servers = 2;
  scale.seconds_per_byte = 0.005;
  const LocalMeasures scaled = ScaledMeasures(measures, scale);
  const double down = AnswerBytes(measures, 8);
  EXPECT_DOUBLE_EQ(scaled.bytes_up, 800);
  EXPECT_DOUBLE_EQ(scaled.bytes_down, 8 * down);
  // Sums take 2 s for 4 workers, and the rest 1 s for answers of 300 bytes.
  EXPECT_DOUBLE_EQ(scaled.server, (2 * 2 + down / 300) / 2);
  EXPECT_DOUBLE_EQ(scaled.codec, 0.75 + 0.25 * down / 100);
  // Of the 4 s of each worker's messages, 2 s are those of 400 bytes.
  EXPECT_DOUBLE_EQ(scaled.messages, 8 * (2 + 0.005 * (100 + down)));
  EXPECT_EQ(scaled.compute, 6);
  EXPECT_EQ(scaled.contention, 1);
  EXPECT_EQ(scaled.latency, 0.125);
}

TEST(ScaledMeasures, OnOneMachineShareItsProcessors) {
  ScalingMeasures measures = Measures();
  measures.four.compute = 12;
  Scale scale;
  scale.one_machine = true;
  scale.workers = 2;
  EXPECT_EQ(ScaledMeasures(measures, scale).contention, 1);
  // Four workers take twice as long as one: there are two places.
  scale.workers = 8;
  const LocalMeasures scaled = ScaledMeasures(measures, scale);
  EXPECT_EQ(scaled.contention, 4);
  EXPECT_EQ(scaled.compute, 24);
}

TEST(UnexplainedSeconds, AreWhatNoPartTakes) {
  JobConfig job;
  LocalMeasures one = Measures().one;
  one.processors = 2;
  one.server = 1;
  one.await = 5;
  const auto unexplained = UnexplainedSeconds(job, one);
  ASSERT_TRUE(unexplained.ok()) << unexplained.status();
  EXPECT_NEAR(*unexplained, 4, 1e-6);
  one.await = 0.5;
  EXPECT_EQ(*UnexplainedSeconds(job, one), 0);
}

}  // namespace
}  // namespace ps
