#include "worker/early_stopping.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace ps {
namespace {

// The number of evaluations until it ends; 0: it does not.
int EndsAfter(int patience, double min_delta, const std::vector<double>& scores,
              int resumed_after = -1) {
  EarlyStoppingConfig config;
  config.set_patience(patience);
  config.set_min_delta(min_delta);
  EarlyStopping stopping(config);
  for (int i = 0; i < static_cast<int>(scores.size()); ++i) {
    if (stopping.Evaluated(scores[i])) return i + 1;
    if (i != resumed_after) continue;
    const EarlyStoppingState state = stopping.state();
    stopping = EarlyStopping(config);
    stopping.GoOnFrom(state);
  }
  return 0;
}

TEST(EarlyStopping, EndsAfterSoManyEvaluationsInARowWithoutAnImprovement) {
  EXPECT_EQ(EndsAfter(2, 0, {1, 2, 2, 3, 1, 2}), 6);
  EXPECT_EQ(EndsAfter(3, 0, {1, 2, 2, 3, 1, 2}), 0);
  EXPECT_EQ(EndsAfter(1, 0, {5, 5}), 2);
  // The scores of metrics of which less is better are negative.
  EXPECT_EQ(EndsAfter(2, 0, {-9, -8, -8.5, -7, -7.5, -7.5}), 6);
  EXPECT_EQ(EndsAfter(0, 0, {3, 2, 1, 0, 0, 0}), 0);
}

TEST(EarlyStopping, SmallImprovementsCountWhenTheyHaveAddedUp) {
  EXPECT_EQ(EndsAfter(2, 0.5, {1, 1.3, 1.6, 1.9, 2.1}), 5);
  EXPECT_EQ(EndsAfter(2, 0.5, {1, 1.3, 1.5, 9}), 3);
}

TEST(EarlyStopping, AScoreThatIsNotANumberIsNoImprovement) {
  const double nan = std::nan("");
  EXPECT_EQ(EndsAfter(2, 0, {nan, nan}), 2);
  EXPECT_EQ(EndsAfter(2, 0, {nan, -3, nan, -2, nan}), 0);
}

TEST(EarlyStopping, GoesOnFromItsState) {
  const std::vector<double> scores = {1, 2, 2, 3, 1, 2};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(EndsAfter(2, 0, scores, i), 6);
}

}  // namespace
}  // namespace ps
