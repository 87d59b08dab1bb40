// Compares with figures computed by hand.
#include "tools/bench/network/measures.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A run with iterations of these times, which push 10 bytes each and get 20.
RunRecords RunOf(const std::vector<double>& seconds) {
  RunRecords run;
  double now = 0;
  for (const double each : seconds) {
    now += each;
    IterationRow row;
    row.iteration = static_cast<double>(run.iterations.size()) + 1;
    row.seconds = now;
    row.bytes_up = 10 * row.iteration;
    row.bytes_down = 20 * row.iteration;
    row.achieved_ratio = 0.5;
    run.iterations.push_back(row);
  }
  return run;
}

RunRecords RunWithLosses(const std::vector<double>& losses) {
  RunRecords run = RunOf(std::vector<double>(losses.size(), 2));
  for (size_t i = 0; i < losses.size(); ++i) {
    run.iterations[i].training_loss = losses[i];
  }
  return run;
}

std::optional<TargetReached> Target(const std::vector<double>& losses,
                                    double target, int64_t smoothing) {
  MeasureOptions options;
  options.target_loss = target;
  options.smoothing = smoothing;
  return MeasureRun(RunWithLosses(losses), options).target;
}

TEST(Measures, AreOfTheIterationsAfterTheWarmUp) {
  MeasureOptions options;
  options.warm_up = 2;
  RunRecords run = RunOf({100, 50, 1, 3, 1, 7});
  run.iterations[0].achieved_ratio = 1;
  run.iterations[5].achieved_ratio = 0.1;
  // Connections and initial weights cost bytes outside of iterations.
  for (IterationRow& row : run.iterations) row.bytes_up += 1000;
  const RunMeasures measures = MeasureRun(run, options);
  EXPECT_EQ(measures.iterations, 4);
  EXPECT_DOUBLE_EQ(measures.mean, 3);
  // The squares of -2, 0, -2 and 4, divided by 3.
  EXPECT_DOUBLE_EQ(measures.deviation, std::sqrt(8));
  EXPECT_DOUBLE_EQ(measures.median, 3);
  EXPECT_DOUBLE_EQ(measures.smallest, 1);
  EXPECT_DOUBLE_EQ(measures.largest, 7);
  EXPECT_DOUBLE_EQ(measures.bytes_up, 10);
  EXPECT_DOUBLE_EQ(measures.bytes_down, 20);
  EXPECT_DOUBLE_EQ(measures.achieved_ratio, 0.4);
}

TEST(Measures, OfARunWithLocalStepsAreOfAnIterationAndNotOfAPush) {
  RunRecords run = RunOf({8, 4, 12});
  for (IterationRow& row : run.iterations) {
    row.iteration *= 4;
    row.phases = {{"compute", 2}};
    row.training_loss = 10 - row.iteration;
  }
  MeasureOptions options;
  options.warm_up = 1;
  options.smoothing = 1;
  options.target_loss = 2;
  const RunMeasures measures = MeasureRun(run, options);
  EXPECT_EQ(measures.iterations, 8);
  EXPECT_DOUBLE_EQ(measures.mean, 2);
  EXPECT_DOUBLE_EQ(measures.smallest, 1);
  EXPECT_DOUBLE_EQ(measures.largest, 3);
  EXPECT_THAT(measures.phases, ElementsAre(Pair("compute", 0.5)));
  EXPECT_DOUBLE_EQ(measures.bytes_up, 2.5);
  EXPECT_EQ(measures.target->iteration, 8);
  EXPECT_DOUBLE_EQ(measures.target->seconds, 12);
  SetSecondsPerIteration(1, &run);
  EXPECT_DOUBLE_EQ(run.iterations.back().seconds, 12);
}

TEST(Measures, WithoutWarmUpTheFirstIterationCountsFromTheStart) {
  MeasureOptions options;
  options.warm_up = 0;
  const RunMeasures measures = MeasureRun(RunOf({4, 2}), options);
  EXPECT_EQ(measures.iterations, 2);
  EXPECT_DOUBLE_EQ(measures.mean, 3);
  EXPECT_DOUBLE_EQ(measures.bytes_up, 10);
}

TEST(Measures, OfTooFewIterationsAreUnknown) {
  MeasureOptions options;
  options.warm_up = 2;
  for (const auto& seconds : {std::vector<double>(), {1, 2}}) {
    const RunMeasures none = MeasureRun(RunOf(seconds), options);
    EXPECT_EQ(none.iterations, 0);
    EXPECT_TRUE(std::isnan(none.mean));
    EXPECT_TRUE(std::isnan(none.bytes_up));
  }
  const RunMeasures one = MeasureRun(RunOf({1, 1, 4}), options);
  EXPECT_EQ(one.iterations, 1);
  EXPECT_DOUBLE_EQ(one.mean, 4);
  EXPECT_TRUE(std::isnan(one.deviation));
  EXPECT_DOUBLE_EQ(one.largest, 4);
}

TEST(Measures, NumbersThatAreMissingMakeMeansUnknown) {
  MeasureOptions options;
  options.warm_up = 1;
  RunRecords run = RunOf({1, 1, 1});
  run.iterations[1].seconds = kNaN;
  const RunMeasures measures = MeasureRun(run, options);
  EXPECT_TRUE(std::isnan(measures.mean));
  EXPECT_TRUE(std::isnan(measures.smallest));
}

TEST(Measures, PhasesAreMeansOverTheIterationsThatHaveThem) {
  MeasureOptions options;
  options.warm_up = 1;
  RunRecords run = RunOf({1, 1, 1, 1});
  run.iterations[0].phases = {{"compress", 100}};
  run.iterations[1].phases = {{"wire", 1}, {"compress", 3}};
  run.iterations[2].phases = {{"compress", 5}, {"apply", 2}};
  EXPECT_THAT(
      MeasureRun(run, options).phases,
      ElementsAre(Pair("wire", 1), Pair("compress", 4), Pair("apply", 2)));
}

TEST(Measures, CanBeOfSomeIterationsOnly) {
  MeasureOptions options;
  options.warm_up = 0;
  RunRecords run = RunOf({9, 2, 4, 100});
  for (size_t i = 0; i < 4; ++i) {
    run.iterations[i].phases = {{"wire", 10.0 * static_cast<double>(i)}};
  }
  run.iterations[3].bytes_up += 1000;
  const RunMeasures measures = MeasureRun(run, options, {1, 3});
  EXPECT_EQ(measures.iterations, 2);
  EXPECT_DOUBLE_EQ(measures.mean, 3);
  EXPECT_DOUBLE_EQ(measures.largest, 4);
  EXPECT_DOUBLE_EQ(measures.bytes_up, 10);
  EXPECT_THAT(measures.phases, ElementsAre(Pair("wire", 15)));
  EXPECT_EQ(MeasureRun(run, options, {3, 9}).iterations, 1);
  EXPECT_EQ(MeasureRun(run, options, {5, 9}).iterations, 0);
}

TEST(Measures, ATargetCanBeEstimatedByTheMean) {
  RunRecords run = RunWithLosses({9, 8, 3, 1});
  SetSecondsPerIteration(10, &run);
  MeasureOptions options;
  options.target_loss = 3;
  options.smoothing = 1;
  EXPECT_DOUBLE_EQ(FindTarget(run, options)->seconds, 30);
}

TEST(Measures, TheTargetIsReachedByTheMeanOfAFullWindow) {
  // Means of 3 from the third on: 4, 3, 1.
  const std::vector<double> losses = {9, 2, 1, 6, -4};
  const auto reached = Target(losses, 3, 3);
  ASSERT_TRUE(reached.has_value());
  EXPECT_EQ(reached->iteration, 4);
  EXPECT_DOUBLE_EQ(reached->seconds, 8);
  EXPECT_EQ(Target(losses, 1, 3)->iteration, 5);
  EXPECT_FALSE(Target(losses, 0.99, 3).has_value());
  // With a window of 1 it is the loss itself.
  EXPECT_EQ(Target(losses, 2, 1)->iteration, 2);
  EXPECT_FALSE(Target({1, 1}, 5, 3).has_value()) << "not so many iterations";
}

TEST(Measures, ALossThatIsNotFiniteIsNeverATarget) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(Target({-infinity, kNaN}, 5, 1).has_value());
  // Only the windows that contain it are NaN.
  EXPECT_EQ(Target({kNaN, infinity, 1, 1}, 5, 2)->iteration, 4);
}

TEST(Measures, WithoutATargetNoneIsReached) {
  EXPECT_FALSE(MeasureRun(RunWithLosses({0, 0, 0, 0, 0, 0}), MeasureOptions())
                   .target.has_value());
}

TEST(Measures, ATargetWithinTheWarmUpCounts) {
  EXPECT_EQ(Target({0, 0, 0}, 1, 2)->iteration, 2);
}

TEST(Measures, MessagesThatDidNotGoOverTheLinksAreNoticed) {
  const RunRecords run = RunOf({1, 1, 1});  // 30 bytes up, 60 down.
  EXPECT_TRUE(CheckLinkBytes(run, 90, /*workers_drift=*/false).ok());
  EXPECT_TRUE(CheckLinkBytes(run, 82, /*workers_drift=*/true).ok());
  EXPECT_FALSE(CheckLinkBytes(run, 81, /*workers_drift=*/true).ok());
  const absl::Status around = CheckLinkBytes(run, 89, /*workers_drift=*/false);
  EXPECT_EQ(around.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(around.message()),
              HasSubstr("had 90 bytes, but only 89 went over the links"));
  EXPECT_EQ(CheckLinkBytes(RunOf({}), 0, false).code(),
            absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace ps
