// Reads the drawn values back from the SVG by its ticks.
#include "tools/report/svg_plot.h"

#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Plot PlotOf(std::vector<PlotPoint> points) {
  Plot plot;
  plot.title = "a title";
  plot.x_label = "iteration";
  plot.y_label = "loss";
  PlotSeries series;
  series.label = "one";
  series.points = std::move(points);
  plot.series.push_back(series);
  return plot;
}

double Number(const std::string& text) {
  double number = kNaN;
  EXPECT_TRUE(absl::SimpleAtod(text, &number)) << text;
  return number;
}

// Of a tick's label: "0.5", "10 k", "10⁻⁶", "2·10⁻⁶".
double LabelNumber(std::string label) {
  label = absl::StrReplaceAll(label, {{"\u00a0k", "e3"}, {"·10", "e"}});
  if (label.size() > 2 && label.substr(0, 2) == "10" &&
      static_cast<unsigned char>(label[2]) >= 0x80) {
    label = "1e" + label.substr(2);
  }
  return Number(absl::StrReplaceAll(label, {{"⁻", "-"},
                                            {"⁰", "0"},
                                            {"¹", "1"},
                                            {"²", "2"},
                                            {"³", "3"},
                                            {"⁴", "4"},
                                            {"⁵", "5"},
                                            {"⁶", "6"}}));
}

std::vector<std::smatch> AllMatches(const std::string& text,
                                    const std::string& pattern) {
  const std::regex regex(pattern);
  return {std::sregex_iterator(text.begin(), text.end(), regex),
          std::sregex_iterator()};
}

// Converts pixels to values by the first and the last tick.
class Scale {
 public:
  Scale(const std::string& svg, const std::string& axis, bool logarithmic)
      : logarithmic_(logarithmic) {
    const std::string position = axis == "x" ? "x='([-.0-9]+)' y='[-.0-9]+'"
                                             : "x='[-.0-9]+' y='([-.0-9]+)'";
    const std::vector<std::smatch> ticks = AllMatches(
        svg, "<text class='" + axis + "' " + position + ">([^<]+)</text>");
    // The y labels are 4 pixels below their line.
    shift_ = axis == "x" ? 0 : -4;
    first_pixel_ = Number(ticks.front()[1]) + shift_;
    last_pixel_ = Number(ticks.back()[1]) + shift_;
    first_ = Value(LabelNumber(ticks.front()[2]));
    last_ = Value(LabelNumber(ticks.back()[2]));
  }

  double At(double pixel) const {
    const double value = first_ + (last_ - first_) * (pixel - first_pixel_) /
                                      (last_pixel_ - first_pixel_);
    return logarithmic_ ? std::exp(value) : value;
  }

 private:
  double Value(double x) const { return logarithmic_ ? std::log(x) : x; }

  const bool logarithmic_;
  double shift_, first_pixel_, last_pixel_, first_, last_;
};

// The points of every line, or of every stripe.
std::vector<std::vector<PlotPoint>> ReadBack(const std::string& svg,
                                             bool logarithmic = false,
                                             const char* what = "polyline") {
  const Scale x(svg, "x", false);
  const Scale y(svg, "y", logarithmic);
  std::vector<std::vector<PlotPoint>> lines;
  const std::string element = absl::StrCat("<", what, " ");
  const std::string points = "points='";
  // Uses no regular expression, because std::regex recurses over a long match.
  for (size_t at = 0; (at = svg.find(element, at)) != std::string::npos;) {
    at = svg.find(points, at) + points.size();
    lines.emplace_back();
    for (const absl::string_view pair : absl::StrSplit(
             svg.substr(at, svg.find('\'', at) - at), ' ', absl::SkipEmpty())) {
      const std::vector<std::string> xy = absl::StrSplit(pair, ',');
      lines.back().push_back({x.At(Number(xy[0])), y.At(Number(xy[1]))});
    }
  }
  return lines;
}

void ExpectNear(const std::vector<PlotPoint>& drawn,
                const std::vector<PlotPoint>& expected, double x_tolerance,
                double y_tolerance) {
  ASSERT_EQ(drawn.size(), expected.size());
  for (size_t i = 0; i < drawn.size(); ++i) {
    EXPECT_NEAR(drawn[i].x, expected[i].x, x_tolerance);
    EXPECT_NEAR(drawn[i].y, expected[i].y, y_tolerance);
  }
}

TEST(DrawPlotTest, LinesHaveTheValuesOfTheData) {
  const std::vector<PlotPoint> points = {
      {1, 0.5}, {2, -0.25}, {5, 0.125}, {9, 1}};
  const auto lines = ReadBack(DrawPlot(PlotOf(points)));
  ASSERT_EQ(lines.size(), 1u);
  ExpectNear(lines[0], points, 1e-3, 1e-3);
}

TEST(DrawPlotTest, LogarithmicLinesToo) {
  const std::vector<PlotPoint> points = {{0, 1}, {1, 0.01}, {2, 3e-6}};
  Plot plot = PlotOf(points);
  plot.y_scale = PlotScale::kLogarithmic;
  const auto lines = ReadBack(DrawPlot(plot), /*logarithmic=*/true);
  ASSERT_EQ(lines.size(), 1u);
  for (size_t i = 0; i < points.size(); ++i) {
    EXPECT_NEAR(std::log(lines[0][i].y), std::log(points[i].y), 2e-3);
  }
}

TEST(DrawPlotTest, AutomaticScaleIsLogarithmicForManyFactorsOnly) {
  Plot plot = PlotOf({{0, 1}, {1, 1000}});
  plot.y_scale = PlotScale::kAutomatic;
  EXPECT_NEAR(ReadBack(DrawPlot(plot), true)[0][1].y, 1000, 5);
  plot.series[0].points[1].y = 10;
  EXPECT_NEAR(ReadBack(DrawPlot(plot))[0][1].y, 10, 0.1);
  plot.series[0].points = {{0, -1}, {1, 1000}};
  EXPECT_NEAR(ReadBack(DrawPlot(plot))[0][0].y, -1, 5);
}

TEST(DrawPlotTest, WhatIsNoNumberLeavesAGap) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {kNaN, infinity, -infinity}) {
    const auto lines = ReadBack(
        DrawPlot(PlotOf({{0, 1}, {1, 2}, {2, bad}, {3, 4}, {4, 3}, {5, bad}})));
    ASSERT_EQ(lines.size(), 2u);
    ExpectNear(lines[0], {{0, 1}, {1, 2}}, 1e-2, 1e-2);
    ExpectNear(lines[1], {{3, 4}, {4, 3}}, 1e-2, 1e-2);
  }
}

TEST(DrawPlotTest, WhatIsNotPositiveLeavesAGapOnALogarithmicAxis) {
  Plot plot = PlotOf({{0, 1}, {1, 0}, {2, 4}, {3, 8}});
  plot.y_scale = PlotScale::kLogarithmic;
  EXPECT_EQ(ReadBack(DrawPlot(plot), true).size(), 2u);
}

TEST(DrawPlotTest, ALonePointIsADot) {
  const std::string svg = DrawPlot(PlotOf({{7, 3}}));
  const auto dots =
      AllMatches(svg, "<circle [^>]*cx='([.0-9]+)' cy='([.0-9]+)'");
  ASSERT_EQ(dots.size(), 1u);
  EXPECT_NEAR(Scale(svg, "x", false).At(Number(dots[0][1])), 7, 0.05);
  EXPECT_NEAR(Scale(svg, "y", false).At(Number(dots[0][2])), 3, 0.05);
}

TEST(DrawPlotTest, WithoutAnythingToShowThereIsNoPlot) {
  EXPECT_EQ(DrawPlot(Plot()), "");
  EXPECT_EQ(DrawPlot(PlotOf({})), "");
  EXPECT_EQ(DrawPlot(PlotOf({{1, kNaN}})), "");
  Plot plot = PlotOf({{1, 0}, {2, -1}});
  plot.y_scale = PlotScale::kLogarithmic;
  EXPECT_EQ(DrawPlot(plot), "");
}

// Values 0, 1, ..., 99 over and over, and one that is far away.
TEST(DrawPlotTest, ManyPointsAreDrawnAsMediansBetweenTheirQuartiles) {
  std::vector<PlotPoint> points;
  for (int i = 0; i < 100 * 140; ++i) {
    points.push_back({static_cast<double>(i), static_cast<double>(i % 100)});
  }
  points[4500].y = 1e6;
  const std::string svg = DrawPlot(PlotOf(points));
  EXPECT_LT(svg.size(), 20000u);
  // One value among many does not show, and does not hide the others.
  EXPECT_EQ(svg.find("M</text>"), std::string::npos) << "the axis ends at 60";
  const auto lines = ReadBack(svg);
  ASSERT_EQ(lines.size(), 1u);
  ASSERT_EQ(lines[0].size(), 140u);
  for (const PlotPoint& median : lines[0]) EXPECT_NEAR(median.y, 49.5, 1.1);
  const auto stripes = ReadBack(svg, false, "polygon");
  ASSERT_EQ(stripes.size(), 1u);
  ASSERT_EQ(stripes[0].size(), 280u);
  for (size_t i = 0; i < stripes[0].size(); ++i) {
    EXPECT_NEAR(stripes[0][i].y, i < 140 ? 74.25 : 24.75, 1.1) << i;
  }
}

TEST(DrawPlotTest, ViewsHaveOneTitleAndOneDrawingEach) {
  Plot first = PlotOf({{0, 1}, {1, 2}});
  Plot second = PlotOf({{0, 1}, {60, 2}});
  second.title = "not shown";
  Plot nothing = PlotOf({{0, kNaN}});
  const std::string html = DrawViews({first, second, nothing});
  EXPECT_EQ(AllMatches(html, "<figure>").size(), 1u);
  EXPECT_EQ(AllMatches(html, "<strong>a title</strong>").size(), 1u);
  EXPECT_EQ(html.find("<strong>not shown"), std::string::npos);
  EXPECT_EQ(AllMatches(html, "<div class='view[0-9]'><svg ").size(), 2u);
  EXPECT_EQ(
      AllMatches(html, "<div class='view2'><p class='note'>Nothing").size(),
      1u);
  EXPECT_EQ(DrawViews({nothing, nothing}), "");
}

TEST(DrawPlotTest, ManySeriesHaveNoStripes) {
  std::vector<PlotPoint> points;
  for (int i = 0; i < 9000; ++i) {
    points.push_back({static_cast<double>(i), i % 2 == 0 ? 1.0 : 3.0});
  }
  Plot plot = PlotOf(points);
  plot.series.resize(kMostStripes, plot.series[0]);
  EXPECT_EQ(AllMatches(DrawPlot(plot), "<polygon ").size(), kMostStripes);
  plot.series.push_back(plot.series[0]);
  EXPECT_EQ(AllMatches(DrawPlot(plot), "<polygon ").size(), 0u);
  EXPECT_EQ(AllMatches(DrawPlot(plot), "<polyline ").size(), kMostStripes + 1);
}

TEST(DrawPlotTest, EveryDashOfEveryColorHasAClassOfItsOwn) {
  Plot plot = PlotOf({{0, 1}, {1, 2}});
  std::set<std::string> classes;
  for (int i = 0; i < kNumPlotColors * kNumPlotDashes; ++i) {
    plot.series[0].color = i % kNumPlotColors;
    plot.series[0].dash = i / kNumPlotColors;
    const std::string svg = DrawPlot(plot);
    classes.insert(AllMatches(svg, "<polyline class='([^']*)'").front()[1]);
  }
  EXPECT_EQ(classes.size(), size_t{kNumPlotColors * kNumPlotDashes});
}

// Equal factors are equal distances, and what is not above 0 cannot be shown.
TEST(DrawPlotTest, TheXAxisCanBeLogarithmic) {
  Plot plot = PlotOf({{0, 1}, {1, 2}, {10, 3}, {100, 4}});
  plot.x_from_zero = true;
  plot.x_scale = PlotScale::kLogarithmic;
  plot.series[0].markers = true;
  const std::string svg = DrawPlot(plot);
  std::vector<double> places;
  for (const auto& match : AllMatches(svg, "<circle [^>]*cx='([^']*)'")) {
    places.push_back(std::stod(match[1]));
  }
  ASSERT_EQ(places.size(), 3u);
  EXPECT_GT(places[1], places[0]);
  EXPECT_NEAR(places[2] - places[1], places[1] - places[0], 0.02);
}

TEST(DrawPlotTest, TextIsEscaped) {
  Plot plot = PlotOf({{0, 1}, {1, 2}});
  const std::string evil = "</svg><script>alert('1')</script>&\"";
  plot.title = plot.x_label = plot.y_label = plot.series[0].label = plot.note =
      evil;
  plot.band = {0, 1, evil};
  const std::string svg = DrawPlot(plot);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_EQ(svg.find("('1')"), std::string::npos);
  EXPECT_NE(svg.find("&lt;/svg&gt;&lt;script&gt;alert(&#39;1&#39;)"),
            std::string::npos);
}

}  // namespace
}  // namespace ps
