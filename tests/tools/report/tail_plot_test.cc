#include "tools/report/tail_plot.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "formats/npy.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

// The quantiles of the exponential distribution with this mean, with
// alternating signs.
std::vector<float> ExponentialGradient(int n, double mean) {
  std::vector<float> gradient(n);
  for (int i = 0; i < n; ++i) {
    const double magnitude = -mean * std::log1p(-(i + 0.5) / n);
    gradient[i] = static_cast<float>(i % 2 == 0 ? magnitude : -magnitude);
  }
  return gradient;
}

TEST(TailPlotTest, MeasuredSharesAreThoseOfTheGradient) {
  std::vector<float> gradient;
  for (int i = 1; i <= 1000; ++i) gradient.push_back(i % 2 == 0 ? i : -i);
  gradient.resize(1500, 0.0f);  // Zeros are not part of the tail.
  const Json lines = TailPlot("", gradient)["lines"];
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0]["label"], "measured");
  const std::vector<double> x = lines[0]["x"];
  const std::vector<double> y = lines[0]["y"];
  EXPECT_EQ(y.front(), 1);
  EXPECT_EQ(x.front(), 1);
  EXPECT_NEAR(y.back(), 1e-3, 1e-9);
  EXPECT_EQ(x.back(), 1000);
  for (size_t i = 0; i < x.size(); ++i) {
    // That share of the 1000 elements is this large or larger.
    EXPECT_NEAR(y[i] * 1000, 1001 - x[i], 1e-9);
  }
}

TEST(TailPlotTest, OnAnExponentialLawAllThreeLawsAgreeWithWhatIsMeasured) {
  const Json lines = TailPlot("", ExponentialGradient(100000, 0.25))["lines"];
  ASSERT_EQ(lines.size(), 4u);
  for (const Json& law : lines) {
    const std::vector<double> x = law["x"];
    const std::vector<double> y = law["y"];
    ASSERT_GT(x.size(), 150u) << law["label"];
    for (size_t i = 0; i < x.size(); ++i) {
      // The last ten elements are too few.
      if (y[i] < 1e-4) continue;
      EXPECT_NEAR(x[i], -0.25 * std::log(y[i]), 0.02) << law["label"];
    }
  }
}

TEST(TailPlotTest, OnALightTailTheLawsPartFromIt) {
  std::vector<float> gradient = ExponentialGradient(100000, 1);
  for (float& x : gradient) {
    x = std::copysign(std::pow(std::fabs(x), 0.5f), x);
  }
  const Json lines = TailPlot("", gradient)["lines"];
  // The point that a hundredth exceeds, which is sqrt(ln 100) for squares.
  const auto at = [&lines](int line) -> double {
    const Json& y = lines[line]["y"];
    for (size_t i = 0; i < y.size(); ++i) {
      if (y[i] <= 0.0101) return lines[line]["x"][i];
    }
    return -1;
  };
  EXPECT_NEAR(at(0), std::sqrt(std::log(100)), 0.02);
  EXPECT_GT(at(1), 1.5 * at(0)) << "the exponential law reaches too far";
}

TEST(TailPlotTest, WithoutTwoDifferentMagnitudesThereIsNothingToDraw) {
  EXPECT_TRUE(TailPlot("", {})["lines"].empty());
  EXPECT_TRUE(TailPlot("", {0, 0})["lines"].empty());
  EXPECT_TRUE(TailPlot("", {0, 2, -2})["lines"].empty());
  EXPECT_TRUE(
      TailPlot("", {std::numeric_limits<float>::quiet_NaN(), 1})["lines"]
          .empty());
}

TEST(ReadLastGradientTest, IsTheLastRow) {
  const std::string path = testing::TempDir() + "/gradients.npy";
  const std::vector<float> elements = {1, 2, 3, 4, 5, 6};
  auto writer = NpyWriter<float>::Create(path);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Append(elements).ok());
  ASSERT_TRUE(writer->CommitRows(3).ok());
  const auto gradient = ReadLastGradient(path);
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_EQ(*gradient, (std::vector<float>{4, 5, 6}));
}

TEST(ReadLastGradientTest, ErrorsNameTheFile) {
  const absl::Status status = ReadLastGradient("/no/such.npy").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("/no/such.npy"), absl::string_view::npos);
}

}  // namespace
}  // namespace ps
