// The page that shows one run or compares several.
#ifndef TOOLS_REPORT_HTML_REPORT_H_
#define TOOLS_REPORT_HTML_REPORT_H_

#include <string>
#include <vector>

#include "tools/report/run_records.h"
#include "tools/report/svg_plot.h"

namespace ps {

// All plots of these runs. Each run is a line in every plot for which it has
// data.
std::vector<Plot> ReportPlots(const std::vector<RunRecords>& runs);

// A self-contained HTML file: a table of the runs, plots of what they recorded
// by iteration, and the plots in `more`. Plots for which no run has numbers are
// left out.
std::string HtmlReport(const std::vector<RunRecords>& runs,
                       const std::vector<Plot>& more);

// The table alone, as Markdown.
std::string MarkdownReport(const std::vector<RunRecords>& runs);

// Labels that distinguish the runs: the names of their jobs, or else compressor,
// value code and target ratio, or else the directories.
std::vector<std::string> RunLabels(const std::vector<RunRecords>& runs);

}  // namespace ps

#endif  // TOOLS_REPORT_HTML_REPORT_H_
