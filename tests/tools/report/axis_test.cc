#include "tools/report/axis.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

std::string Labels(const Axis& axis) {
  return absl::StrJoin(axis.ticks, " ", [](std::string* out, const Tick& tick) {
    *out += tick.label;
  });
}

TEST(LinearAxisTest, TicksAreRoundAndHoldTheRange) {
  EXPECT_EQ(Labels(LinearAxis(0, 1)), "0 0.2 0.4 0.6 0.8 1.0");
  EXPECT_EQ(Labels(LinearAxis(0.13, 0.98)), "0 0.2 0.4 0.6 0.8 1.0");
  EXPECT_EQ(Labels(LinearAxis(-3, 3.5)), "-4 -2 0 2 4");
  EXPECT_EQ(Labels(LinearAxis(1, 937, 8)), "0 200 400 600 800 1000");
  EXPECT_EQ(Labels(LinearAxis(0.00021, 0.00039)),
            "0.0002 0.00025 0.0003 0.00035 0.0004");
}

TEST(LinearAxisTest, OfWholeNumbersHasNoTicksBetweenThem) {
  const auto labels = [](double low, double high) {
    return Labels(LinearAxis(low, high, 6, /*whole=*/true));
  };
  EXPECT_EQ(labels(1, 1), "0 1 2");
  EXPECT_EQ(labels(1, 2), "1 2");
  EXPECT_EQ(labels(1, 2.5), "1 2 3");
  EXPECT_EQ(labels(0, 30), "0 10 20 30");
}

TEST(LinearAxisTest, OneValueLiesInTheMiddle) {
  for (const double value : {0.0, 1.0, -7.5, 1e-12, 3e20}) {
    const Axis axis = LinearAxis(value, value);
    EXPECT_LT(axis.low, value) << value;
    EXPECT_GT(axis.high, value) << value;
    EXPECT_GE(axis.ticks.size(), 2u) << value;
    EXPECT_LE(axis.ticks.size(), 12u) << value;
  }
}

TEST(LinearAxisTest, NeverHasManyTicks) {
  for (double low = -1e9; low < 1e9; low = low < 0 ? low / 7.3 + 1 : low * 9) {
    for (double span = 1e-3; span < 1e12; span *= 3.7) {
      const Axis axis = LinearAxis(low, low + span);
      EXPECT_LE(axis.low, low + 1e-9 * span);
      EXPECT_GE(axis.high, low + span - 1e-9 * span);
      EXPECT_GE(axis.ticks.size(), 2u);
      EXPECT_LE(axis.ticks.size(), 12u) << low << " + " << span;
    }
  }
}

TEST(LogarithmicAxisTest, TicksArePowersOfTenAndHoldTheRange) {
  EXPECT_EQ(Labels(LogarithmicAxis(0.003, 400)),
            "0.001 0.01 0.1 1 10 100 1000");
  EXPECT_EQ(Labels(LogarithmicAxis(0.7, 2)), "0.1 0.2 0.5 1 2 5 10");
  EXPECT_EQ(Labels(LogarithmicAxis(10, 10)), "10 20 50 100");
}

TEST(LogarithmicAxisTest, OverManyPowersSomeAreLeftOut) {
  const Axis axis = LogarithmicAxis(1e-30, 1);
  EXPECT_LE(axis.ticks.size(), 12u);
  EXPECT_LE(axis.low, 1e-30);
  EXPECT_DOUBLE_EQ(axis.high, 1);
}

TEST(AxisTest, PositionRunsFromLowToHigh) {
  const Axis linear = LinearAxis(0, 10);
  EXPECT_DOUBLE_EQ(linear.Position(0), 0);
  EXPECT_DOUBLE_EQ(linear.Position(2.5), 0.25);
  EXPECT_DOUBLE_EQ(linear.Position(10), 1);
  const Axis logarithmic = LogarithmicAxis(0.01, 1);
  EXPECT_DOUBLE_EQ(logarithmic.Position(0.1), 0.5);
  EXPECT_TRUE(std::isnan(logarithmic.Position(0)));
  EXPECT_TRUE(std::isnan(logarithmic.Position(-1)));
}

TEST(LinearAxisTest, LabelsOfOneAxisTellItsTicksApart) {
  EXPECT_EQ(Labels(LinearAxis(98.15, 98.3)), "98.15 98.20 98.25 98.30");
  EXPECT_EQ(Labels(LinearAxis(0, 40000)),
            "0 10\u00a0k 20\u00a0k 30\u00a0k 40\u00a0k");
  EXPECT_EQ(Labels(LinearAxis(2.2e6, 2.4e6)),
            "2.20\u00a0M 2.25\u00a0M 2.30\u00a0M 2.35\u00a0M 2.40\u00a0M");
}

TEST(LogarithmicAxisTest, SmallNumbersHaveExponents) {
  EXPECT_EQ(Labels(LogarithmicAxis(1e-6, 1e-3)), "1e-06 1e-05 1e-04 0.001");
}

}  // namespace
}  // namespace ps
