#include "tools/report/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tools/report/axis.h"

namespace ps {
namespace {

// Margins of the picture.
constexpr double kLeft = 60;
constexpr double kRight = 24;  // For half of the last label.
constexpr double kTop = 30;    // For the name of the y axis.
constexpr double kBottom = 44;
// Width for the label of a tick of the x axis.
constexpr double kTickWidth = 64;
// Groups that are too small have no quiet medians.
constexpr size_t kMostPoints = 140;

class Canvas {
 public:
  Canvas(const PlotSize& size, Axis x, Axis y)
      : size_(size), x_(std::move(x)), y_(std::move(y)) {}

  double X(double value) const {
    return kLeft + (right() - kLeft) * x_.Position(value);
  }
  double Y(double value) const {
    return bottom() - (bottom() - kTop) * y_.Position(value);
  }
  bool Shows(const PlotPoint& point) const {
    return std::isfinite(X(point.x)) && std::isfinite(Y(point.y));
  }
  std::string At(const PlotPoint& point) const {
    return absl::StrFormat("%.2f,%.2f ", X(point.x), Y(point.y));
  }

  double right() const { return size_.width - kRight; }
  double bottom() const { return size_.height - kBottom; }
  const PlotSize& size() const { return size_; }
  const Axis& x() const { return x_; }
  const Axis& y() const { return y_; }

 private:
  const PlotSize size_;
  const Axis x_;
  const Axis y_;
};

// Consecutive points of a series that are drawn as one.
struct Group {
  PlotPoint middle;  // Mean of x, median of y.
  double low = 0;    // First and third quartile of y.
  double high = 0;
};

// The value below which this share of the sorted values lies, interpolated
// between neighbours.
double Quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] +
         (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// Whether an axis of this scale can show the value.
bool CanShow(PlotScale scale, double value) {
  return std::isfinite(value) &&
         (scale != PlotScale::kLogarithmic || value > 0);
}

// A group without a point that can be shown is NaN.
std::vector<Group> GroupPoints(const Plot& plot,
                               const std::vector<PlotPoint>& points) {
  const size_t size = (points.size() + kMostPoints - 1) / kMostPoints;
  std::vector<Group> groups;
  std::vector<double> values;
  for (size_t begin = 0; begin < points.size(); begin += size) {
    Group group;
    values.clear();
    for (size_t i = begin; i < std::min(points.size(), begin + size); ++i) {
      if (!CanShow(plot.x_scale, points[i].x) ||
          !CanShow(plot.y_scale, points[i].y)) {
        continue;
      }
      group.middle.x += points[i].x;
      values.push_back(points[i].y);
    }
    std::sort(values.begin(), values.end());
    if (values.empty()) {
      group.middle.y = std::numeric_limits<double>::quiet_NaN();
    } else {
      group.middle.x /= static_cast<double>(values.size());
      group.middle.y = Quantile(values, 0.5);
      group.low = Quantile(values, 0.25);
      group.high = Quantile(values, 0.75);
    }
    groups.push_back(group);
  }
  return groups;
}

void DrawAxes(const Canvas& canvas, const Plot& plot, std::string* svg) {
  for (const Tick& tick : canvas.y().ticks) {
    const double y = canvas.Y(tick.value);
    absl::StrAppendFormat(
        svg, "<line class='grid' x1='%.2f' x2='%.2f' y1='%.2f' y2='%.2f'/>",
        kLeft, canvas.right(), y, y);
    absl::StrAppendFormat(svg, "<text class='y' x='%.2f' y='%.2f'>%s</text>\n",
                          kLeft - 7, y + 4, EscapeMarkup(tick.label));
  }
  const double bottom = canvas.bottom();
  for (const Tick& tick : canvas.x().ticks) {
    const double x = canvas.X(tick.value);
    absl::StrAppendFormat(
        svg, "<line class='tick' x1='%.2f' x2='%.2f' y1='%.2f' y2='%.2f'/>", x,
        x, bottom, bottom + 5);
    absl::StrAppendFormat(svg, "<text class='x' x='%.2f' y='%.2f'>%s</text>\n",
                          x, bottom + 18, EscapeMarkup(tick.label));
  }
  absl::StrAppendFormat(
      svg, "<line class='axis' x1='%.2f' x2='%.2f' y1='%.2f' y2='%.2f'/>\n",
      kLeft, canvas.right(), bottom, bottom);
  absl::StrAppendFormat(svg, "<text class='name' x='%.2f' y='%.2f'>%s</text>\n",
                        (kLeft + canvas.right()) / 2, bottom + 37,
                        EscapeMarkup(plot.x_label));
  absl::StrAppendFormat(svg, "<text class='top' x='2' y='14'>%s</text>\n",
                        EscapeMarkup(plot.y_label));
}

void DrawBand(const Canvas& canvas, const PlotBand& band, std::string* svg) {
  const double top = canvas.Y(std::min(band.high, canvas.y().high));
  const double bottom = canvas.Y(std::max(band.low, canvas.y().low));
  absl::StrAppendFormat(svg,
                        "<rect class='band' x='%.2f' y='%.2f' width='%.2f' "
                        "height='%.2f'><title>%s</title></rect>\n",
                        kLeft, top, canvas.right() - kLeft,
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
    line += canvas.At(g->middle);
    stripe += canvas.At({g->middle.x, g->high});
    wide = wide || g->high > g->low;
  }
  if (wide && striped) {
    for (const Group* g = end; g-- != begin;) {
      stripe += canvas.At({g->middle.x, g->low});
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
                          color, canvas.X(g->middle.x), canvas.Y(g->middle.y));
  }
  *svg += '\n';
}

void DrawSeries(const Canvas& canvas, const PlotSeries& series,
                const std::vector<Group>& groups, bool striped,
                std::string* svg) {
  // An automatic x axis may be logarithmic and have points at 0.
  const auto is_gap = [&canvas](const Group& g) {
    return !canvas.Shows(g.middle);
  };
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

Axis XAxis(const Plot& plot, Extent x, double width) {
  if (IsLogarithmic(plot.x_scale, x)) {
    return LogarithmicAxis(x.positive.low, x.positive.high, plot.x_unit);
  }
  if (plot.x_from_zero) x.Add(0);
  LinearAxisOptions options;
  options.ticks = static_cast<int>((width - kLeft - kRight) / kTickWidth) + 1;
  options.unit = plot.x_unit;
  return LinearAxis(x.all.low, x.all.high, options);
}

Axis YAxis(const Plot& plot, const Extent& y) {
  if (IsLogarithmic(plot.y_scale, y)) {
    return LogarithmicAxis(y.positive.low, y.positive.high, plot.y_unit);
  }
  LinearAxisOptions options;
  options.whole = plot.whole_y;
  options.unit = plot.y_unit;
  return LinearAxis(y.all.low, y.all.high, options);
}

std::string Figure(const Plot& plot, const std::string& drawing) {
  std::string figure = absl::StrCat("<figure>", Legend(plot), drawing);
  if (!plot.note.empty()) {
    absl::StrAppend(&figure, "<p class='note'>", EscapeMarkup(plot.note),
                    "</p>\n");
  }
  return figure + "</figure>\n";
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
.key { display: inline-flex; align-items: baseline; max-width: 100%;
  overflow-wrap: anywhere; margin-right: 12px; }
.key svg { flex: none; margin-right: 5px; }
svg.plot { display: block; width: 100%; height: auto; }
svg.plot text { font: 13px system-ui, sans-serif; fill: var(--faint); }
svg.plot text.y { text-anchor: end; }
svg.plot text.x, svg.plot text.name { text-anchor: middle; }
svg.plot text.name, svg.plot text.top { fill: var(--text); }
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

std::string DrawCurves(const Plot& plot, const PlotSize& size) {
  const bool striped = plot.series.size() <= kMostStripes;
  Extent x;
  Extent y;
  std::vector<std::vector<Group>> groups;  // [series]
  for (const PlotSeries& series : plot.series) {
    groups.push_back(GroupPoints(plot, series.points));
    for (const Group& group : groups.back()) {
      if (std::isnan(group.middle.y)) continue;
      x.Add(group.middle.x);
      y.Add(striped ? group.low : group.middle.y);
      y.Add(striped ? group.high : group.middle.y);
    }
  }
  if (x.all.empty()) return "";
  if (plot.band.has_value()) {
    y.Add(plot.band->low);
    y.Add(plot.band->high);
  }
  const Canvas canvas(size, XAxis(plot, x, size.width), YAxis(plot, y));
  std::string svg = absl::StrFormat(
      "<svg class='plot' viewBox='0 0 %.0f %.0f' width='%.0f' height='%.0f' "
      "role='img' aria-label='%s'>\n",
      size.width, size.height, size.width, size.height,
      EscapeMarkup(plot.title));
  if (plot.band.has_value()) DrawBand(canvas, *plot.band, &svg);
  DrawAxes(canvas, plot, &svg);
  for (size_t i = 0; i < plot.series.size(); ++i) {
    DrawSeries(canvas, plot.series[i], groups[i], striped, &svg);
  }
  return svg + "</svg>\n";
}

std::string DrawPlot(const Plot& plot) {
  const std::string curves = DrawCurves(plot, kPagePlotSize);
  return curves.empty() ? "" : Figure(plot, curves);
}

std::string DrawViews(const std::vector<Plot>& views) {
  std::string all;
  bool any = false;
  for (size_t i = 0; i < views.size(); ++i) {
    const std::string curves = DrawCurves(views[i], kPagePlotSize);
    any = any || !curves.empty();
    absl::StrAppend(
        &all, "<div class='view", i, "'>",
        curves.empty() ? "<p class='note'>Nothing is recorded.</p>" : curves,
        "</div>\n");
  }
  return any ? Figure(views[0], all) : "";
}

std::string EscapeMarkup(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"},
                                    {"<", "&lt;"},
                                    {">", "&gt;"},
                                    {"\"", "&quot;"},
                                    {"'", "&#39;"}});
}

}  // namespace ps
