#include "worker/push_plan.h"

#include <cstdint>

#include "gtest/gtest.h"

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

}  // namespace
}  // namespace ps
