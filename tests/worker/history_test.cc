#include "worker/page/history.h"

#include <vector>

#include "gtest/gtest.h"

namespace ps {
namespace {

HistoryPoint At(int64_t iteration, double loss) {
  HistoryPoint point;
  point.iteration = iteration;
  point.loss = loss;
  point.seconds = 0.5 * static_cast<double>(iteration);
  return point;
}

TEST(History, KeepsEveryPointWhileThereAreFew) {
  History history;
  for (int i = 1; i <= 800; ++i) history.Add(At(i, i));
  ASSERT_EQ(history.points().size(), 800u);
  EXPECT_EQ(history.points()[17].iteration, 18);
  EXPECT_EQ(history.points()[17].loss, 18);
}

// Each point is the mean of as many iterations, and ends with the last of them.
TEST(History, StaysSmallAndHasMeansOfTheLoss) {
  History history;
  constexpr int kIterations = 50000;
  for (int i = 1; i <= kIterations; ++i) history.Add(At(i, i));
  const std::vector<HistoryPoint>& points = history.points();
  EXPECT_LE(points.size(), History::kMostPoints);
  EXPECT_GE(points.size(), History::kMostPoints / 2);
  EXPECT_EQ(points.back().iteration, kIterations);
  const int64_t stride = points[0].iteration;
  for (size_t p = 0; p + 1 < points.size(); ++p) {
    EXPECT_EQ(points[p].iteration, static_cast<int64_t>(p + 1) * stride);
    EXPECT_DOUBLE_EQ(points[p].loss, points[p].iteration - (stride - 1) / 2.0);
    EXPECT_EQ(points[p].seconds, 0.5 * points[p].iteration);
  }
}

TEST(History, ForgetsWhatIsDoneAgain) {
  History history;
  for (int i = 1; i <= 100; ++i) history.Add(At(i, 1));
  for (int i = 61; i <= 70; ++i) history.Add(At(i, 2));
  ASSERT_EQ(history.points().size(), 70u);
  EXPECT_EQ(history.points()[59].loss, 1);
  EXPECT_EQ(history.points()[60].loss, 2);
  EXPECT_EQ(history.points()[69].iteration, 70);
}

}  // namespace
}  // namespace ps
