#include "tools/influence/ranking.h"

#include <vector>

#include "gtest/gtest.h"

namespace ps {
namespace {

using Numbers = std::vector<int64_t>;

TEST(Ranking, EqualScoresAreInOrderOfTheirNumbers) {
  const std::vector<double> scores = {1, 3, -2, 3, 0, -2, 2};
  EXPECT_EQ(RankDescending(scores), (Numbers{1, 3, 6, 0, 4, 2, 5}));
  EXPECT_EQ(Proponents(scores, 2), (Numbers{1, 3}));
  EXPECT_EQ(Opponents(scores, 1), (Numbers{2}));
  // 0 is neither.
  EXPECT_EQ(Proponents(scores, 10), (Numbers{1, 3, 6, 0}));
  EXPECT_EQ(Opponents(scores, 10), (Numbers{2, 5}));
}

TEST(Ranking, RecallOfTheBestAndTheWorst) {
  std::vector<bool> wanted(100);
  for (int i = 0; i < 10; ++i) wanted[i] = true;
  Numbers best(100), worst(100);
  for (int64_t i = 0; i < 100; ++i) best[i] = i, worst[i] = 99 - i;
  const Recall first = MeasureRecall(best, wanted);
  EXPECT_EQ(first.at, (std::vector<double>{0.1, 0.5, 1, 1, 1}));
  EXPECT_NEAR(first.area, BestArea(wanted), 1e-12);
  EXPECT_NEAR(BestArea(wanted), 0.95, 1e-12);
  EXPECT_NEAR(first.average_precision, 1, 1e-12);
  const Recall last = MeasureRecall(worst, wanted);
  EXPECT_EQ(last.at, (std::vector<double>{0, 0, 0, 0, 0}));
  EXPECT_NEAR(last.area, 0.05, 1e-12);
}

// Precisions at the two that are found: 1/2 and 2/3.
TEST(Ranking, AveragePrecisionByHand) {
  const Recall recall = MeasureRecall({0, 1, 2}, {false, true, true});
  EXPECT_NEAR(recall.average_precision, (1 / 2.0 + 2 / 3.0) / 2, 1e-12);
  // 1, 5, ... 30 % of 3 examples are 1 example.
  EXPECT_EQ(recall.at, (std::vector<double>{0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace ps
