#include "tools/report/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tools/report/axis.h"

namespace ps {
namespace {

// Margins of the picture, in CSS pixels at its natural size.
constexpr double kLeft = 68;
constexpr double kRight = 28;  // For half of the last label.
constexpr double kTop = 12;
constexpr double kBottom = 46;
// About two pixels for each point.
constexpr size_t kMostPoints = 280;

class Canvas {
 public:
  Canvas(Axis x, Axis y) : x_(std::move(x)), y_(std::move(y)) {}

  double X(double value) const {
    return kLeft + (kPlotWidth - kLeft - kRight) * x_.Position(value);
  }
  double Y(double value) const {
    return kPlotHeight - kBottom -
           (kPlotHeight - kTop - kBottom) * y_.Position(value);
  }
  bool Shows(const PlotPoint& point) const {
    return std::isfinite(X(point.x)) && std::isfinite(Y(point.y));
  }
  std::string At(const PlotPoint& point) const {
    return absl::StrFormat("%.2f,%.2f ", X(point.x), Y(point.y));
  }

  const Axis& x() const { return x_; }
  const Axis& y() const { return y_; }

 private:
  const Axis x_;
  const Axis y_;
};

// Consecutive points of a series that are drawn as one.
struct Group {
  PlotPoint mean;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
};

// A group without a point that can be shown is NaN.
std::vector<Group> GroupPoints(const Canvas& canvas,
                               const std::vector<PlotPoint>& points) {
  const size_t size = (points.size() + kMostPoints - 1) / kMostPoints;
  std::vector<Group> groups;
  for (size_t begin = 0; begin < points.size(); begin += size) {
    Group group;
    double count = 0;
    for (size_t i = begin; i < std::min(points.size(), begin + size); ++i) {
      if (!canvas.Shows(points[i])) continue;
      ++count;
      group.mean.x += points[i].x;
      group.mean.y += points[i].y;
      group.low = std::min(group.low, points[i].y);
      group.high = std::max(group.high, points[i].y);
    }
    // 0 / 0 gives a NaN, which leaves a gap.
    group.mean.x /= count;
    group.mean.y /= count;
    groups.push_back(group);
  }
  return groups;
}

void DrawAxes(const Canvas& canvas, const Plot& plot, std::string* svg) {
  for (const Tick& tick : canvas.y().ticks) {
    const double y = canvas.Y(tick.value);
    absl::StrAppendFormat(
        svg, "<line class='grid' x1='%.2f' x2='%.2f' y1='%.2f' y2='%.2f'/>",
        kLeft, kPlotWidth - kRight, y, y);
    absl::StrAppendFormat(svg, "<text class='y' x='%.2f' y='%.2f'>%s</text>\n",
                          kLeft - 8, y + 4, EscapeMarkup(tick.label));
  }
  for (const Tick& tick : canvas.x().ticks) {
    const double x = canvas.X(tick.value);
    absl::StrAppendFormat(
        svg, "<line class='tick' x1='%.2f' x2='%.2f' y1='%.2f' y2='%.2f'/>", x,
        x, kPlotHeight - kBottom, kPlotHeight - kBottom + 5);
    absl::StrAppendFormat(svg, "<text class='x' x='%.2f' y='%.2f'>%s</text>\n",
                          x, kPlotHeight - kBottom + 19,
                          EscapeMarkup(tick.label));
  }
  absl::StrAppendFormat(
      svg, "<line class='axis' x1='%.2f' x2='%.2f' y1='%.2f' y2='%.2f'/>\n",
      kLeft, kPlotWidth - kRight, kPlotHeight - kBottom, kPlotHeight - kBottom);
  absl::StrAppendFormat(svg, "<text class='name' x='%.2f' y='%.2f'>%s</text>\n",
                        (kLeft + kPlotWidth - kRight) / 2, kPlotHeight - 8,
                        EscapeMarkup(plot.x_label));
  absl::StrAppendFormat(
      svg,
      "<text class='name' transform='translate(14 %.2f) rotate(-90)'>%s"
      "</text>\n",
      (kTop + kPlotHeight - kBottom) / 2, EscapeMarkup(plot.y_label));
}

void DrawBand(const Canvas& canvas, const PlotBand& band, std::string* svg) {
  const double top = canvas.Y(std::min(band.high, canvas.y().high));
  const double bottom = canvas.Y(std::max(band.low, canvas.y().low));
  absl::StrAppendFormat(svg,
                        "<rect class='band' x='%.2f' y='%.2f' width='%.2f' "
                        "height='%.2f'><title>%s</title></rect>\n",
                        kLeft, top, kPlotWidth - kLeft - kRight,
                        std::max(0.0, bottom - top), EscapeMarkup(band.label));
}

std::string LineClass(const PlotSeries& series) {
  return absl::StrFormat("s%d dash%d", series.color % kNumPlotColors,
                         series.dash % kNumPlotDashes);
}

// Draws the groups [begin, end), none of them a gap.
void DrawStretch(const Canvas& canvas, const PlotSeries& series, bool striped,
                 const Group* begin, const Group* end, std::string* svg) {
  const int color = series.color % kNumPlotColors;
  std::string line;
  std::string stripe;
  bool wide = false;
  for (const Group* g = begin; g != end; ++g) {
    line += canvas.At(g->mean);
    stripe += canvas.At({g->mean.x, g->high});
    wide = wide || g->high > g->low;
  }
  if (wide && striped) {
    for (const Group* g = end; g-- != begin;) {
      stripe += canvas.At({g->mean.x, g->low});
    }
    absl::StrAppendFormat(svg, "<polygon class='f%d' points='%s'/>\n", color,
                          stripe);
  }
  absl::StrAppendFormat(
      svg, "<polyline class='%s' points='%s'><title>%s</title></polyline>\n",
      LineClass(series), line, EscapeMarkup(series.label));
  // A lone point has no line.
  if (!series.markers && end - begin > 1) return;
  for (const Group* g = begin; g != end; ++g) {
    absl::StrAppendFormat(svg,
                          "<circle class='d%d' cx='%.2f' cy='%.2f' r='3'/>",
                          color, canvas.X(g->mean.x), canvas.Y(g->mean.y));
  }
  *svg += '\n';
}

void DrawSeries(const Canvas& canvas, const PlotSeries& series, bool striped,
                std::string* svg) {
  const std::vector<Group> groups = GroupPoints(canvas, series.points);
  const auto is_gap = [](const Group& g) { return std::isnan(g.mean.y); };
  const Group* const all_end = groups.data() + groups.size();
  const Group* begin = groups.data();
  while (begin != all_end) {
    const Group* const end = std::find_if(begin, all_end, is_gap);
    if (end != begin) DrawStretch(canvas, series, striped, begin, end, svg);
    begin = end == all_end ? end : end + 1;
  }
}

std::string Legend(const Plot& plot) {
  std::string legend = "<figcaption><strong>" + EscapeMarkup(plot.title) +
                       "</strong><span class='legend'>";
  for (const PlotSeries& series : plot.series) {
    absl::StrAppendFormat(
        &legend,
        "<span class='key'><svg width='26' height='12' aria-hidden='true'>"
        "<line class='%s' x1='1' x2='25' y1='6' y2='6'/></svg>%s</span> ",
        LineClass(series), EscapeMarkup(series.label));
  }
  if (plot.band.has_value()) {
    legend +=
        "<span class='key'><svg width='26' height='12' aria-hidden='true'>"
        "<rect class='band' width='26' height='12'/></svg>" +
        EscapeMarkup(plot.band->label) + "</span>";
  }
  return legend + "</span></figcaption>\n";
}

// The smallest and the largest number that can be shown.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

// What an axis has to show.
struct Extent {
  Range all;
  Range positive;

  void Add(double value) {
    all.Add(value);
    if (value > 0) positive.Add(value);
  }
};

bool IsLogarithmic(PlotScale scale, const Extent& extent) {
  const Range& positive = extent.positive;
  if (positive.empty() || scale == PlotScale::kLinear) return false;
  return scale == PlotScale::kLogarithmic ||
         (extent.all.low > 0 &&
          positive.high > kLogarithmicSpan * positive.low);
}

// Whether an axis of this scale can show the value.
bool CanShow(PlotScale scale, double value) {
  return std::isfinite(value) &&
         (scale != PlotScale::kLogarithmic || value > 0);
}

Axis XAxis(const Plot& plot, Extent x) {
  if (IsLogarithmic(plot.x_scale, x)) {
    return LogarithmicAxis(x.positive.low, x.positive.high);
  }
  if (plot.x_from_zero) x.Add(0);
  return LinearAxis(x.all.low, x.all.high, /*ticks=*/8);
}

Axis YAxis(const Plot& plot, const Extent& y) {
  return IsLogarithmic(plot.y_scale, y)
             ? LogarithmicAxis(y.positive.low, y.positive.high)
             : LinearAxis(y.all.low, y.all.high, /*ticks=*/6, plot.whole_y);
}

}  // namespace

// Colours of Okabe and Ito, which colour-blind readers can distinguish; lighter
// on a dark background.
const char kPlotStyle[] = R"css(
:root { color-scheme: light dark; --ground: #ffffff; --text: #1b1f24;
  --faint: #5d6772; --grid: #e3e7eb; --panel: #f6f8fa; --good: #2da44e;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b0568f; --c4: #8a6d00;
  --c5: #3a9bd9; --c6: #6f4fc4; --c7: #5d6772; }
@media (prefers-color-scheme: dark) { :root { --ground: #14181d;
  --text: #e6e9ec; --faint: #9aa5b1; --grid: #2d343c; --panel: #1c2128;
  --good: #3fb950; --c0: #58a6e8; --c1: #ff8f4a; --c2: #3fcf9f; --c3: #e58bc4;
  --c4: #e3c04a; --c5: #8fd0ff; --c6: #b39dff; --c7: #aab4be; } }
figure { margin: 0; background: var(--panel); border-radius: 8px;
  padding: 14px 16px; }
figcaption { margin-bottom: 6px; }
figcaption strong { display: block; margin-bottom: 3px; }
.legend { color: var(--faint); font-size: 13px; }
.note { color: var(--faint); font-size: 13px; max-width: 70em; }
.key { white-space: nowrap; margin-right: 12px; }
.key svg { vertical-align: -1px; margin-right: 5px; }
svg.plot { display: block; width: 100%; height: auto; }
svg.plot text { font: 12px system-ui, sans-serif; fill: var(--faint); }
svg.plot text.y { text-anchor: end; }
svg.plot text.x, svg.plot text.name { text-anchor: middle; }
svg.plot text.name { fill: var(--text); }
.grid { stroke: var(--grid); }
.axis, .tick { stroke: var(--faint); }
.band { fill: var(--good); opacity: 0.13; }
polyline { fill: none; stroke-width: 1.7; stroke-linejoin: round; }
.key line { stroke-width: 2.5; }
polygon { opacity: 0.2; }
.dash1 { stroke-dasharray: 6 4; }
.dash2 { stroke-dasharray: 2 3; }
.dash3 { stroke-dasharray: 9 3 2 3; }
.s0 { stroke: var(--c0); } .f0, .d0 { fill: var(--c0); }
.s1 { stroke: var(--c1); } .f1, .d1 { fill: var(--c1); }
.s2 { stroke: var(--c2); } .f2, .d2 { fill: var(--c2); }
.s3 { stroke: var(--c3); } .f3, .d3 { fill: var(--c3); }
.s4 { stroke: var(--c4); } .f4, .d4 { fill: var(--c4); }
.s5 { stroke: var(--c5); } .f5, .d5 { fill: var(--c5); }
.s6 { stroke: var(--c6); } .f6, .d6 { fill: var(--c6); }
.s7 { stroke: var(--c7); } .f7, .d7 { fill: var(--c7); }
)css";

std::string DrawCurves(const Plot& plot) {
  Extent x;
  Extent y;
  for (const PlotSeries& series : plot.series) {
    for (const PlotPoint& point : series.points) {
      if (!CanShow(plot.x_scale, point.x) || !CanShow(plot.y_scale, point.y)) {
        continue;
      }
      x.Add(point.x);
      y.Add(point.y);
    }
  }
  if (x.all.empty()) return "";
  if (plot.band.has_value()) {
    y.Add(plot.band->low);
    y.Add(plot.band->high);
  }
  const Canvas canvas(XAxis(plot, x), YAxis(plot, y));
  std::string svg = absl::StrFormat(
      "<svg class='plot' viewBox='0 0 %.0f %.0f' width='%.0f' height='%.0f' "
      "role='img' aria-label='%s'>\n",
      kPlotWidth, kPlotHeight, kPlotWidth, kPlotHeight,
      EscapeMarkup(plot.title));
  if (plot.band.has_value()) DrawBand(canvas, *plot.band, &svg);
  DrawAxes(canvas, plot, &svg);
  for (const PlotSeries& series : plot.series) {
    DrawSeries(canvas, series, plot.series.size() <= kMostStripes, &svg);
  }
  return svg + "</svg>\n";
}

std::string DrawPlot(const Plot& plot) {
  const std::string curves = DrawCurves(plot);
  if (curves.empty()) return "";
  std::string figure = absl::StrCat("<figure>", Legend(plot), curves);
  if (!plot.note.empty()) {
    absl::StrAppend(&figure, "<p class='note'>", EscapeMarkup(plot.note),
                    "</p>\n");
  }
  return figure + "</figure>\n";
}

std::string EscapeMarkup(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"},
                                    {"<", "&lt;"},
                                    {">", "&gt;"},
                                    {"\"", "&quot;"},
                                    {"'", "&#39;"}});
}

}  // namespace ps
