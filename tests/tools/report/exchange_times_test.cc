#include "tools/report/exchange_times.h"

#include <cmath>

#include "gtest/gtest.h"

namespace ps {
namespace {

IterationRow Row(double compute, double await, double communication) {
  IterationRow row;
  row.phases = {{"compute", compute},
                {"compress", 0.25},
                {"await", await},
                {"apply", 0.5},
                {"communication", communication},
                {"wire", 99}};
  return row;
}

TEST(ExchangeTimes, AreMeansOverTheIterationsThatHaveThem) {
  RunRecords run;
  run.iterations = {Row(1, 2, 4), IterationRow(), Row(3, 0, 4)};
  const ExchangeTimes times = MeasureExchange(run);
  EXPECT_DOUBLE_EQ(times.compute, 2);
  EXPECT_DOUBLE_EQ(times.await, 1);
  EXPECT_DOUBLE_EQ(times.iteration, 2 + 0.25 + 0.5 + 1);
  EXPECT_DOUBLE_EQ(times.HiddenShare(), 0.75);
}

TEST(ExchangeTimes, WaitingAllTheTimeHidesNothing) {
  RunRecords run;
  run.iterations = {Row(1, 4.001, 4)};
  EXPECT_EQ(MeasureExchange(run).HiddenShare(), 0);
}

TEST(ExchangeTimes, OlderRecordsHaveNone) {
  RunRecords run;
  run.iterations = {IterationRow()};
  EXPECT_TRUE(std::isnan(MeasureExchange(run).iteration));
  EXPECT_TRUE(std::isnan(MeasureExchange(run).HiddenShare()));
}

}  // namespace
}  // namespace ps
