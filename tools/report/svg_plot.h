// Line plots as inline SVG, for a page that contains the style sheet
// kPlotStyle.
//
// Numbers that cannot be shown (not finite, or not positive on a logarithmic
// axis) leave a gap in their line.
#ifndef TOOLS_REPORT_SVG_PLOT_H_
#define TOOLS_REPORT_SVG_PLOT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/report/axis.h"

namespace ps {

struct PlotPoint {
  double x = 0;
  double y = 0;
};

struct PlotSeries {
  std::string label;
  std::vector<PlotPoint> points;  // x ascends.
  // One of kNumPlotColors, modulo their number; the same for one run in all
  // plots.
  int color = 0;
  int dash = 0;          // One of kNumPlotDashes; 0: a solid line.
  bool markers = false;  // A dot at each point.
};

// A horizontal stripe that marks good values.
struct PlotBand {
  double low = 0;
  double high = 0;
  std::string label;
};

enum class PlotScale {
  kLinear,
  kLogarithmic,
  // Logarithmic if the values are positive and span more than
  // kLogarithmicSpan.
  kAutomatic,
};
constexpr double kLogarithmicSpan = 20;  // Largest over smallest.

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  // The labels of the ticks have the unit.
  AxisUnit x_unit = AxisUnit::kNone;
  AxisUnit y_unit = AxisUnit::kNone;
  bool x_from_zero = false;  // Linear x only; else from the smallest x.
  PlotScale x_scale = PlotScale::kLinear;
  PlotScale y_scale = PlotScale::kLinear;
  bool whole_y = false;  // No ticks between whole numbers.
  std::vector<PlotSeries> series;
  std::optional<PlotBand> band;
  std::string note;  // Below the plot.
};

// Size of a drawing, in CSS pixels if it is not stretched.
struct PlotSize {
  double width = 0;
  double height = 0;
};
// A page shows several beside each other, or one on a phone, without making
// text small.
constexpr PlotSize kPagePlotSize = {400, 250};
constexpr PlotSize kFilePlotSize = {640, 360};

constexpr int kNumPlotColors = 8;
constexpr int kNumPlotDashes = 4;

// For a <style> element. Light or dark according to the reader's system.
extern const char kPlotStyle[];

constexpr size_t kMostStripes = 4;

// A figure with title and legend, for a page. If a series has more points than
// a reader can tell apart, the medians of groups of neighbours are drawn on a
// pale stripe from their first to their third quartile. A plot of more than
// kMostStripes series has no stripes, because they would cover each other.
// Empty if no point can be shown.
std::string DrawPlot(const Plot& plot);

// The same series in several views, of which the page shows one: view i is in
// an element of class "view<i>". Title, legend and note are those of the first.
std::string DrawViews(const std::vector<Plot>& views);

// Only the <svg> element.
std::string DrawCurves(const Plot& plot, const PlotSize& size);

// Escapes text for an element or an attribute of HTML or SVG.
std::string EscapeMarkup(absl::string_view text);

}  // namespace ps

#endif  // TOOLS_REPORT_SVG_PLOT_H_
