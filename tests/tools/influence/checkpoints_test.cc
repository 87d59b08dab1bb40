#include "tools/influence/checkpoints.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One every 10 pushes, with these training losses.
std::vector<InfluenceCheckpoint> Kept(const std::vector<double>& losses) {
  std::vector<InfluenceCheckpoint> kept;
  for (const double loss : losses) {
    InfluenceCheckpoint checkpoint;
    checkpoint.push = 10 * static_cast<int64_t>(kept.size() + 1);
    checkpoint.learning_rate = 0.1;
    checkpoint.training_loss = loss;
    kept.push_back(checkpoint);
  }
  return kept;
}

std::vector<int64_t> Chosen(const std::vector<double>& losses,
                            const std::string& selector) {
  const auto chosen = ChooseCheckpoints(Kept(losses), selector);
  EXPECT_TRUE(chosen.ok()) << chosen.status();
  std::vector<int64_t> pushes;
  for (const InfluenceCheckpoint& each : chosen->checkpoints) {
    pushes.push_back(each.push);
  }
  EXPECT_EQ(chosen->warning, "");
  return pushes;
}

std::string Error(const std::vector<double>& losses,
                  const std::string& selector) {
  const auto chosen = ChooseCheckpoints(Kept(losses), selector);
  EXPECT_TRUE(absl::IsInvalidArgument(chosen.status())) << selector;
  return std::string(chosen.status().message());
}

// The loss has almost converged in the second half, which gets one checkpoint
// and not half of them.
TEST(ChooseCheckpoints, SpreadsThemEquallyOverTheLoss) {
  const std::vector<double> losses = {2.0, 1.5,  1.1,  0.5,  0.2,
                                      0.1, 0.08, 0.06, 0.05, 0.04};
  EXPECT_THAT(Chosen(losses, "spread:5"), ElementsAre(10, 20, 30, 40, 100));
  EXPECT_THAT(Chosen(losses, "spread:2"), ElementsAre(10, 100));
  EXPECT_EQ(Chosen(losses, "spread:10").size(), 10u);
  // Each at most once, also where several steps are nearest to the same one.
  EXPECT_THAT(Chosen({2, 0.1, 0.1, 0.1}, "spread:3"), ElementsAre(10, 20, 40));
}

TEST(ChooseCheckpoints, OtherSelectors) {
  const std::vector<double> losses = {3, 2, 1, 1, 1};
  EXPECT_THAT(Chosen(losses, "all"), ElementsAre(10, 20, 30, 40, 50));
  EXPECT_THAT(Chosen(losses, "every:2"), ElementsAre(10, 30, 50));
  EXPECT_THAT(Chosen(losses, "every:3"), ElementsAre(20, 50));
  EXPECT_THAT(Chosen(losses, "40,20"), ElementsAre(20, 40));
  EXPECT_THAT(Chosen(losses, "50"), ElementsAre(50));
}

TEST(ChooseCheckpoints, FewerThanAskedForAreUsedWithAWarning) {
  const auto chosen = ChooseCheckpoints(Kept({2, 1}), "spread:5");
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->checkpoints.size(), 2u);
  EXPECT_THAT(chosen->warning,
              AllOf(HasSubstr("has kept 2 snapshots, the first after 10 "
                              "pushes, and not 5"),
                    HasSubstr("checkpoint { every: N keep_last: M }")));
}

TEST(ChooseCheckpoints, WhatIsWrongIsNamed) {
  EXPECT_THAT(Error({2}, "spread:5"),
              AllOf(HasSubstr("has kept only that after 10 pushes"),
                    HasSubstr("checkpoint { every: N keep_last: M }"),
                    HasSubstr("--checkpoints=10")));
  EXPECT_THAT(
      Error({2, 1}, "every:2"),
      HasSubstr("--checkpoints leaves only that after 20 pushes. To use "
                "this one alone, say --checkpoints=20"));
  EXPECT_THAT(Error({2, 1}, "30"),
              AllOf(HasSubstr("no snapshot after 30 pushes; it has 10, 20"),
                    HasSubstr("keep_last")));
  EXPECT_THAT(Error({2, 1}, "10,10"), HasSubstr("names a snapshot twice"));
  EXPECT_THAT(Error({2, 1}, "best"), HasSubstr("must be all, every:N"));
  EXPECT_THAT(Error({2, 1}, "every:0"), HasSubstr("at least 1"));
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(Error({2, unknown, 1}, "spread:2"),
              HasSubstr("no training losses before push 20"));
  auto kept = Kept({2, 1});
  for (InfluenceCheckpoint& each : kept) each.learning_rate = 0;
  EXPECT_THAT(ChooseCheckpoints(kept, "all").status().message(),
              HasSubstr("the learning rate is 0"));
}

TrainingPlan PlanOf(const JobConfig& config) {
  TrainingSet set;
  set.num_examples = 1000;
  auto plan = PlanTraining(config, set);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

TEST(LearningRateAfter, IsThatOfTheNextUpdate) {
  JobConfig config;
  config.mutable_training()->set_batch_size(10);
  config.mutable_training()->set_epochs(2);
  config.mutable_cluster()->set_num_workers(2);
  config.mutable_optimizer()->set_learning_rate(0.4);
  config.mutable_schedule()->set_name("step");
  config.mutable_schedule()->add_milestones(30);
  const TrainingPlan plan = PlanOf(config);
  EXPECT_EQ(plan.pushes.num_pushes(), 100);
  EXPECT_DOUBLE_EQ(LearningRateAfter(config, plan, 29), 0.4);
  EXPECT_DOUBLE_EQ(LearningRateAfter(config, plan, 30), 0.04);
}

// A push moves the weights by the worker's rate times the servers'.
TEST(LearningRateAfter, InDeltaModeIsTheProductOfBothRates) {
  JobConfig config;
  config.mutable_training()->set_batch_size(10);
  config.mutable_cluster()->set_num_workers(1);
  config.mutable_worker_optimizer()->set_learning_rate(0.2);
  config.mutable_schedule()->set_name("step");
  config.mutable_schedule()->add_milestones(30);
  config.mutable_consistency()->set_local_steps(5);
  const TrainingPlan plan = PlanOf(config);
  EXPECT_EQ(plan.pushes.num_pushes(), 20);
  EXPECT_DOUBLE_EQ(LearningRateAfter(config, plan, 5), 0.2);
  EXPECT_DOUBLE_EQ(LearningRateAfter(config, plan, 6), 0.02);
  config.mutable_optimizer()->set_learning_rate(0.5);
  EXPECT_DOUBLE_EQ(LearningRateAfter(config, plan, 5), 0.1);
}

}  // namespace
}  // namespace ps
