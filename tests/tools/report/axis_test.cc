#include "tools/report/axis.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
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
  EXPECT_EQ(Labels(LinearAxis(1, 937, {8})), "0 200 400 600 800 1000");
  EXPECT_EQ(Labels(LinearAxis(0.00021, 0.00039)),
            "2.0·10⁻⁴ 2.5·10⁻⁴ 3.0·10⁻⁴ 3.5·10⁻⁴ 4.0·10⁻⁴");
}

TEST(LinearAxisTest, OfWholeNumbersHasNoTicksBetweenThem) {
  const auto labels = [](double low, double high) {
    return Labels(LinearAxis(low, high, {6, /*whole=*/true}));
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

TEST(LogarithmicAxisTest, EitherAllLabelsArePowersOrNone) {
  EXPECT_EQ(Labels(LogarithmicAxis(1e-6, 1e-3)), "10⁻⁶ 10⁻⁵ 10⁻⁴ 10⁻³");
  EXPECT_EQ(Labels(LogarithmicAxis(1e-4, 1e-1)), "0.0001 0.001 0.01 0.1");
  EXPECT_EQ(Labels(LogarithmicAxis(1e3, 1e6)), "10³ 10⁴ 10⁵ 10⁶");
  EXPECT_EQ(Labels(LogarithmicAxis(1e-5, 1e-4)), "10⁻⁵ 2·10⁻⁵ 5·10⁻⁵ 10⁻⁴");
}

std::string UnitLabels(double low, double high, AxisUnit unit) {
  LinearAxisOptions options;
  options.unit = unit;
  std::string labels = Labels(LinearAxis(low, high, options));
  return absl::StrReplaceAll(labels, {{"\u00a0", "_"}});
}

TEST(LinearAxisTest, BytesHaveOneUnit) {
  EXPECT_EQ(UnitLabels(0, 900, AxisUnit::kBytes),
            "0 0.2_kB 0.4_kB 0.6_kB 0.8_kB 1.0_kB");
  EXPECT_EQ(UnitLabels(0, 10e9, AxisUnit::kBytes),
            "0 2_GB 4_GB 6_GB 8_GB 10_GB");
  EXPECT_EQ(UnitLabels(0, 2.2e6, AxisUnit::kBytes),
            "0 0.5_MB 1.0_MB 1.5_MB 2.0_MB 2.5_MB");
}

TEST(LinearAxisTest, LongTimesAreInMinutesHoursAndDays) {
  EXPECT_EQ(UnitLabels(0, 90, AxisUnit::kSeconds),
            "0 20_s 40_s 60_s 80_s 100_s");
  EXPECT_EQ(UnitLabels(0, 1200, AxisUnit::kSeconds),
            "0 5_min 10_min 15_min 20_min");
  EXPECT_EQ(UnitLabels(0, 9 * 3600, AxisUnit::kSeconds),
            "0 2_h 4_h 6_h 8_h 10_h");
  EXPECT_EQ(UnitLabels(0, 10 * 86400, AxisUnit::kSeconds),
            "0 2_d 4_d 6_d 8_d 10_d");
}

TEST(LogarithmicAxisTest, LabelsHaveTheirUnits) {
  const auto labels = [](double low, double high, AxisUnit unit) {
    return absl::StrReplaceAll(Labels(LogarithmicAxis(low, high, unit)),
                               {{"\u00a0", "_"}});
  };
  EXPECT_EQ(labels(1e4, 1e9, AxisUnit::kBytes),
            "10_kB 100_kB 1_MB 10_MB 100_MB 1_GB");
  EXPECT_EQ(labels(0.1, 1e3, AxisUnit::kSeconds),
            "0.1_s 1_s 10_s 100_s 1000_s");
}

}  // namespace
}  // namespace ps
