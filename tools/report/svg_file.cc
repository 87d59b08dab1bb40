#include "tools/report/svg_file.h"

#include <cctype>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace ps {
namespace {

constexpr double kMargin = 16;
constexpr double kTitleHeight = 30;
constexpr double kLegendHeight = 20;
constexpr double kLabelBegin = kMargin + 34;

// Styles that the page gives by HTML, and a fixed size, because the page
// stretches plots.
constexpr char kFileStyle[] = R"css(
svg.plot { width: 640px; height: 360px; }
svg.plot text { font-size: 12px; }
.paper { fill: var(--ground); }
.title { font: 600 15px system-ui, sans-serif; fill: var(--text); }
.label { font: 13px system-ui, sans-serif; fill: var(--faint); }
.sample { stroke-width: 2.5; }
)css";

// The page's style with the light colours in place of their names, because many
// programs that show SVG files do not support CSS variables and paint
// everything black.
std::string FileStyle() {
  const absl::string_view style = kPlotStyle;
  const size_t light_end = style.find('}') + 1;
  std::vector<std::pair<std::string, std::string>> colors;
  for (const absl::string_view each :
       absl::StrSplit(style.substr(0, light_end), absl::ByAnyChar(";{}"))) {
    const std::vector<std::string> parts = absl::StrSplit(each, ": ");
    if (parts.size() != 2 || !absl::StrContains(parts[0], "--")) continue;
    colors.emplace_back(
        absl::StrCat("var(", absl::StripAsciiWhitespace(parts[0]), ")"),
        parts[1]);
  }
  // The style after both sets of colours.
  const absl::string_view rest = style.substr(style.find("figure"));
  return absl::StrReplaceAll(absl::StrCat(rest, kFileStyle), colors);
}

// A smaller font size for a label that is too long for its line, because a
// picture is cut off at its edge. A character is about 0.6 of the font size
// wide.
std::string SmallerSize(const std::string& label) {
  constexpr double kUsual = 13;  // As the style has it.
  const double size = (kFilePlotSize.width - kLabelBegin - kMargin) /
                      (0.6 * static_cast<double>(label.size()));
  if (size >= kUsual) return "";
  return absl::StrFormat(" style='font-size: %.1fpx'", size);
}

// A line of the legend for each series.
std::string Legend(const Plot& plot) {
  std::string legend;
  double y = kTitleHeight + kLegendHeight / 2;
  for (const PlotSeries& series : plot.series) {
    absl::StrAppendFormat(
        &legend,
        "<line class='sample s%d dash%d' x1='%.0f' x2='%.0f' y1='%.0f' "
        "y2='%.0f'/><text class='label'%s x='%.0f' y='%.0f'>%s</text>\n",
        series.color % kNumPlotColors, series.dash % kNumPlotDashes, kMargin,
        kMargin + 26, y, y, SmallerSize(series.label), kLabelBegin, y + 4,
        EscapeMarkup(series.label));
    y += kLegendHeight;
  }
  return legend;
}

}  // namespace

std::string SvgFile(const Plot& plot) {
  const std::string curves = DrawCurves(plot, kFilePlotSize);
  if (curves.empty()) return "";
  const double top =
      kTitleHeight + kLegendHeight * static_cast<double>(plot.series.size());
  const double height = top + kFilePlotSize.height;
  return absl::StrFormat(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' "
      "width='%.0f' height='%.0f'>\n<style>%s</style>\n"
      "<rect class='paper' width='%.0f' height='%.0f'/>\n"
      "<text class='title' x='%.0f' y='22'>%s</text>\n%s"
      "<g transform='translate(0 %.0f)'>%s</g>\n</svg>\n",
      kFilePlotSize.width, height, kFilePlotSize.width, height, FileStyle(),
      kFilePlotSize.width, height, kMargin, EscapeMarkup(plot.title),
      Legend(plot), top, curves);
}

std::string SvgFileName(const Plot& plot) {
  std::string name;
  for (const char c : plot.title) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) {
      name.push_back(static_cast<char>(std::tolower(byte)));
    } else if (!name.empty() && name.back() != '_') {
      name.push_back('_');
    }
  }
  return absl::StrCat(name, ".svg");
}

}  // namespace ps
