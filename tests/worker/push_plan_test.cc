#include "worker/push_plan.h"

#include <cstdint>
#include <string>
#include <utility>

#include "common/config.h"
#include "gtest/gtest.h"
#include "worker/training_plan.h"

namespace ps {
namespace {

PushPlan Plan(int64_t total, int64_t local_steps, int64_t evaluate_every) {
  PushPlanOptions options;
  options.total_iterations = total;
  options.local_steps = local_steps;
  options.evaluate_every = evaluate_every;
  return PushPlan(options);
}

// Counts one iteration after the other, following the rule.
TEST(PushPlan, AgreesWithCounting) {
  for (const int64_t total : {0, 1, 7, 12, 30}) {
    for (const int64_t steps : {1, 2, 3, 5, 100}) {
      for (const int64_t every : {0, 1, 4, 6, 30, 50}) {
        SCOPED_TRACE(testing::Message()
                     << total << " iterations, " << steps
                     << " local steps, evaluated every " << every);
        const PushPlan plan = Plan(total, steps, every);
        int64_t pushes = 0;
        int64_t evaluations = 0;
        int64_t begin = 0;
        int64_t since_evaluation = 0;
        for (int64_t i = 0; i < total; ++i) {
          ++since_evaluation;
          const bool evaluates =
              i + 1 == total || (every > 0 && (i + 1) % every == 0);
          if (!evaluates && since_evaluation % steps != 0) continue;
          EXPECT_EQ(plan.Begin(pushes), begin);
          EXPECT_EQ(plan.End(pushes), i + 1);
          ++pushes;
          begin = i + 1;
          if (evaluates) {
            ++evaluations;
            since_evaluation = 0;
          }
          EXPECT_EQ(plan.NumEvaluations(pushes), evaluations);
        }
        EXPECT_EQ(plan.num_pushes(), pushes);
      }
    }
  }
}

TrainingPlan PlanOf(int num_workers, const std::string& override = "seed=1") {
  JobConfig job;
  job.mutable_training()->set_batch_size(4);
  job.mutable_training()->set_epochs(6);
  job.mutable_cluster()->set_num_workers(num_workers);
  EXPECT_TRUE(ApplyOverride(override, &job).ok());
  auto plan = PlanTraining(job, {/*num_examples=*/1003});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

TEST(SamePlace, IsTheSamePartOfTheTraining) {
  const TrainingPlan two = PlanOf(2);    // 125 iterations an epoch.
  const TrainingPlan three = PlanOf(3);  // 83
  EXPECT_EQ(SamePlace(two, 125, three), 83);
  EXPECT_EQ(SamePlace(three, 83, two), 125);
  EXPECT_EQ(SamePlace(two, 124, three), 82);
  EXPECT_EQ(SamePlace(two, 749, three), 497);
  EXPECT_EQ(SamePlace(two, 1, three), 1);
  EXPECT_EQ(SamePlace(two, 333, two), 333);
  for (int64_t push = 1; push < two.pushes.num_pushes(); ++push) {
    const int64_t other = SamePlace(two, push, three);
    EXPECT_LT(other, three.pushes.num_pushes());
    EXPECT_EQ(three.pushes.NumEvaluations(other),
              two.pushes.NumEvaluations(push));
  }
  // 32 pushes an epoch, of 125 iterations.
  const TrainingPlan local = PlanOf(2, "consistency.local_steps=4");
  EXPECT_EQ(SamePlace(two, 126, local), 32);
  EXPECT_EQ(SamePlace(local, 33, two), 129);
}

TEST(SamePlace, IsTheSameIterationWhereThoseAreGiven) {
  const TrainingPlan two = PlanOf(2, "training.max_iterations=100");
  const TrainingPlan four = PlanOf(4, "training.max_iterations=100");
  EXPECT_EQ(SamePlace(two, 37, four), 37);
}

}  // namespace
}  // namespace ps
