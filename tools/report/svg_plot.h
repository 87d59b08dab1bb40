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
  std::string y_label;       // With its unit.
  bool x_from_zero = false;  // Linear x only; else from the smallest x.
  PlotScale x_scale = PlotScale::kLinear;
  PlotScale y_scale = PlotScale::kLinear;
  bool whole_y = false;  // No ticks between whole numbers.
  std::vector<PlotSeries> series;
  std::optional<PlotBand> band;
  std::string note;  // Below the plot.
};

// Size of the drawing, in its own units.
constexpr double kPlotWidth = 640;
constexpr double kPlotHeight = 360;

constexpr int kNumPlotColors = 8;
constexpr int kNumPlotDashes = 4;

// For a <style> element. Light or dark according to the reader's system.
extern const char kPlotStyle[];

constexpr size_t kMostStripes = 4;

// If a series has more points than a reader can tell apart, the means of groups
// of neighbours are drawn on a pale stripe from their smallest to their largest
// value. A plot of more than kMostStripes series has no stripes, because they
// would cover each other. Empty if no point can be shown.
std::string DrawPlot(const Plot& plot);

// Only the <svg> element of DrawPlot.
std::string DrawCurves(const Plot& plot);

// Escapes text for an element or an attribute of HTML or SVG.
std::string EscapeMarkup(absl::string_view text);

}  // namespace ps

#endif  // TOOLS_REPORT_SVG_PLOT_H_
