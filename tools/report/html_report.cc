#include "tools/report/html_report.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/report/run_plots.h"
#include "tools/report/run_table.h"

namespace ps {
namespace {

// The buttons of the switch are labels of radio buttons, which come before
// everything that depends on them.
constexpr char kPageStyle[] = R"css(
body { margin: 0 auto; padding: 28px 24px 60px; max-width: 1340px;
  background: var(--ground); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 24px; margin: 0 0 16px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 0; }
summary { color: var(--faint); cursor: pointer; padding: 10px 0; }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 20px;
  margin: 30px 0 12px; }
.plots { display: grid; gap: 18px;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 380px), 1fr)); }
.switch { display: inline-flex; border: 1px solid var(--grid);
  border-radius: 8px; overflow: hidden; }
.switch label { padding: 5px 13px; cursor: pointer; color: var(--faint); }
input.against { position: absolute; opacity: 0; pointer-events: none; }
#against0:checked ~ .bar label[for=against0],
#against1:checked ~ .bar label[for=against1],
#against2:checked ~ .bar label[for=against2] { color: var(--text);
  background: var(--grid); }
#against0:focus-visible ~ .bar label[for=against0],
#against1:focus-visible ~ .bar label[for=against1],
#against2:focus-visible ~ .bar label[for=against2] {
  outline: 2px solid var(--c0); outline-offset: -2px; }
.view0, .view1, .view2 { display: none; }
#against0:checked ~ .plots .view0, #against1:checked ~ .plots .view1,
#against2:checked ~ .plots .view2 { display: block; }
@media (max-width: 700px) {
  body { padding: 18px 14px 40px; }
  figure { padding: 10px 10px 6px; }
}
)css";

// In the order of kAllAgainst.
constexpr char kSwitch[] =
    "<input type='radio' class='against' name='against' id='against0' checked>"
    "<input type='radio' class='against' name='against' id='against1'>"
    "<input type='radio' class='against' name='against' id='against2'>\n"
    "<div class='bar'><h2>Results</h2><span class='switch' role='group' "
    "aria-label='against'><label for='against0'>by iteration</label>"
    "<label for='against1'>by time</label>"
    "<label for='against2'>by bytes</label></span></div>\n";

constexpr size_t kMostJobsInTitle = 3;

std::string Title(const std::vector<RunRecords>& runs) {
  std::set<std::string> jobs;
  for (const RunRecords& run : runs) jobs.insert(run.job);
  return jobs.size() > kMostJobsInTitle
             ? absl::StrCat(runs.size(), " runs")
             : EscapeMarkup(absl::StrJoin(jobs, ", "));
}

// A heading and the plots; nothing without plots.
std::string Section(const char* heading, const std::string& plots) {
  return plots.empty() ? ""
                       : absl::StrCat(heading, "<div class='plots'>\n", plots,
                                      "</div>\n");
}

}  // namespace

std::string HtmlReport(const std::vector<RunRecords>& runs,
                       const std::vector<Plot>& more) {
  std::string results;
  for (const std::vector<Plot>& views : ResultPlots(runs)) {
    results += DrawViews(views);
  }
  std::string exchange;
  for (const Plot& plot : ExchangePlots(runs)) exchange += DrawPlot(plot);
  for (const Plot& plot : more) exchange += DrawPlot(plot);
  const std::string title = Title(runs);
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>\n"
      "<meta name='viewport' content='width=device-width'>\n<title>",
      title, " – gradsieve report</title>\n<style>", kPlotStyle, kTableStyle,
      kPageStyle, "</style></head>\n<body><h1>", title, "</h1>\n",
      MainTable(runs), "<details><summary>All numbers</summary>\n",
      DetailTable(runs),
      "<p class='note'>Ratios, stages, residuals and the times of an iteration "
      "are worker 0's. Communication is hidden while that worker computes. "
      "Achieved / target and the share within 20 % leave out the first ",
      kSettlingIterations, " iterations.</p></details>\n",
      Section(kSwitch, results),
      Section("<div class='bar'><h2>Exchange and compression</h2></div>\n",
              exchange),
      "<p class='note'>A line with many points shows medians of neighbouring "
      "iterations, on a pale stripe that has the middle half of them; more "
      "than ",
      kMostStripes, " lines have no stripes.</p>\n</body></html>\n");
}

}  // namespace ps
