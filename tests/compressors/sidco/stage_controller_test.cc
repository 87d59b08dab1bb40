#include "compressors/sidco/stage_controller.h"

#include <set>
#include <utility>

#include "common/random.h"
#include "compressors/sidco/sidco_options.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using Rule = StageControllerOptions::Rule;

StageControllerOptions Options(Rule rule, int start, int max) {
  StageControllerOptions options;
  options.rule = rule;
  options.start_stages = start;
  options.max_stages = max;
  return options;
}

void ObserveTimes(int times, double quality, StageController* controller) {
  for (int i = 0; i < times; ++i) controller->Observe(quality);
}

TEST(StageControllerTest, MaxStagesIsTheNumberOfHalvings) {
  EXPECT_EQ(MaxStages(0.1), 4);
  EXPECT_EQ(MaxStages(0.01), 7);
  EXPECT_EQ(MaxStages(0.001), 10);
  EXPECT_EQ(MaxStages(0.9), 1);
  EXPECT_EQ(MaxStages(1), 1);
}

TEST(StageControllerTest, FixedRisesWhenTooFewAndFallsWhenTooMany) {
  StageController controller(Options(Rule::kFixed, 3, 7));
  ObserveTimes(4, 0.1, &controller);
  EXPECT_EQ(controller.stages(), 3) << "before five observations";
  ObserveTimes(1, 0.1, &controller);
  EXPECT_EQ(controller.stages(), 4);
  ObserveTimes(5, 5, &controller);
  EXPECT_EQ(controller.stages(), 3);
}

TEST(StageControllerTest, StaysWithinTheToleranceOfTheMean) {
  for (const Rule rule : {Rule::kFixed, Rule::kReverse, Rule::kProbe}) {
    StageController controller(Options(rule, 3, 7));
    // The means are 0.81 and 1.19, although single observations lie outside.
    for (const double offset : {-0.19, 0.19}) {
      for (const double swing : {0.5, -0.5, 0.25, -0.25, 0.0}) {
        controller.Observe(1 + offset + swing);
      }
      EXPECT_EQ(controller.stages(), 3);
    }
  }
}

TEST(StageControllerTest, FixedStaysAtOneStageThatSelectsTooMany) {
  StageController controller(Options(Rule::kFixed, 1, 7));
  ObserveTimes(50, 8, &controller);
  EXPECT_EQ(controller.stages(), 1);
}

TEST(StageControllerTest, ReverseTurnsWhenTheErrorGrows) {
  StageController controller(Options(Rule::kReverse, 1, 7));
  ObserveTimes(5, 3, &controller);
  EXPECT_EQ(controller.stages(), 1) << "too many: fewer stages, at first";
  ObserveTimes(5, 3.5, &controller);
  EXPECT_EQ(controller.stages(), 2) << "the error grew: it turns";
  ObserveTimes(5, 2, &controller);
  EXPECT_EQ(controller.stages(), 3) << "the error shrank: it goes on";
  ObserveTimes(5, 0.5, &controller);
  EXPECT_EQ(controller.stages(), 2) << "below the band: the other way";
}

// In SIDCo's code the last mean quality must be above 0 for a turn.
TEST(StageControllerTest, ReverseDoesNotTurnAfterNothingWasSelected) {
  StageController controller(Options(Rule::kReverse, 1, 7));
  ObserveTimes(5, 0, &controller);
  EXPECT_EQ(controller.stages(), 2) << "too few: more stages";
  ObserveTimes(5, 3, &controller);
  EXPECT_EQ(controller.stages(), 1) << "the error grew, but after a 0";
  ObserveTimes(5, 3.5, &controller);
  EXPECT_EQ(controller.stages(), 2) << "the error grew: it turns";
}

TEST(StageControllerTest, ProbeTurnsAtTheFloor) {
  StageController controller(Options(Rule::kProbe, 1, 7));
  ObserveTimes(5, 8, &controller);
  EXPECT_EQ(controller.stages(), 2);
  ObserveTimes(5, 4, &controller);
  EXPECT_EQ(controller.stages(), 3) << "the error shrank: same direction";
  ObserveTimes(5, 6, &controller);
  EXPECT_EQ(controller.stages(), 2) << "the error grew: it turns";
}

TEST(StageControllerTest, ProbeKeepsItsDirectionThroughTheBand) {
  StageController controller(Options(Rule::kProbe, 1, 7));
  ObserveTimes(5, 0.1, &controller);
  EXPECT_EQ(controller.stages(), 2);
  ObserveTimes(5, 0.95, &controller);
  ObserveTimes(5, 0.75, &controller);
  EXPECT_EQ(controller.stages(), 3) << "what helped last is tried again";
}

// Two stages are enough at first, and three are needed once the residual has
// filled up. A rule that remembers the error it had within the band attributes
// leaving the band to its last move, reverses, and cycles through 2, 1, 2, 1.
TEST(StageControllerTest, ProbeDoesNotCycleWhereTheBandIsLeftAfterAWhile) {
  StageController controller(Options(Rule::kProbe, 1, 7));
  int decisions_at_two = 0;
  for (int decision = 0; decision < 20; ++decision) {
    double quality = 1;
    if (controller.stages() == 1) {
      quality = 0.1;
      decisions_at_two = 0;
    } else if (controller.stages() == 2) {
      quality = ++decisions_at_two == 1 ? 0.95 : 0.75;
    }
    ObserveTimes(5, quality, &controller);
  }
  EXPECT_EQ(controller.stages(), 3);
}

TEST(StageControllerTest, ProbeGoesOnWhileNothingIsSelected) {
  // The error is infinite and does not grow.
  StageController controller(Options(Rule::kProbe, 1, 4));
  ObserveTimes(15, 0, &controller);
  EXPECT_EQ(controller.stages(), 4);
  ObserveTimes(5, 0, &controller);
  EXPECT_EQ(controller.stages(), 3) << "turns at the ceiling";
}

TEST(StageControllerTest, NeverLeavesItsBounds) {
  for (const Rule rule : {Rule::kFixed, Rule::kReverse, Rule::kProbe}) {
    for (const int max : {1, 2, 5}) {
      StageController controller(Options(rule, 1, max));
      RandomStream random(max);
      std::set<int> seen;
      for (int i = 0; i < 5000; ++i) {
        controller.Observe(random.Below(4) == 0 ? 0 : random.Uniform(0, 10));
        seen.insert(controller.stages());
      }
      EXPECT_GE(*seen.begin(), 1);
      EXPECT_LE(*seen.rbegin(), max);
    }
  }
}

TEST(StageControllerTest, RestoredControllerDecidesTheSame) {
  for (const Rule rule : {Rule::kFixed, Rule::kReverse, Rule::kProbe}) {
    StageController original(Options(rule, 2, 7));
    RandomStream random(3);
    for (int i = 0; i < 203; ++i) original.Observe(random.Uniform(0, 3));
    StateWriter writer("test");
    original.Save(&writer);
    const std::string state = std::move(writer).Finish();
    StageController restored(Options(rule, 1, 7));
    auto reader = StateReader::Open("test", state);
    ASSERT_TRUE(reader.ok());
    ASSERT_TRUE(restored.Load(&*reader).ok());
    for (int i = 0; i < 200; ++i) {
      const double quality = random.Uniform(0, 3);
      original.Observe(quality);
      restored.Observe(quality);
      ASSERT_EQ(original.stages(), restored.stages()) << i;
    }
  }
}

TEST(StageControllerTest, StateOutOfItsBoundsIsRefused) {
  StageController seven(Options(Rule::kProbe, 7, 7));
  StateWriter writer("test");
  seven.Save(&writer);
  const std::string state = std::move(writer).Finish();
  StageController four(Options(Rule::kProbe, 2, 4));
  auto reader = StateReader::Open("test", state);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(four.Load(&*reader).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(four.stages(), 2);
}

}  // namespace
}  // namespace ps
