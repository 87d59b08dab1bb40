// The page that shows one run or compares several.
#ifndef TOOLS_REPORT_HTML_REPORT_H_
#define TOOLS_REPORT_HTML_REPORT_H_

#include <string>
#include <vector>

#include "common/json.h"
#include "tools/report/run_records.h"

namespace ps {

// A self-contained HTML file: tables of the runs, plots of what they recorded,
// and the plots in `more`, a list for drawPlot (monitoring/plots/plots.js) with
// titles and notes. Plots for which no run has numbers are left out.
std::string HtmlReport(const std::vector<RunRecords>& runs, const Json& more);

}  // namespace ps

#endif  // TOOLS_REPORT_HTML_REPORT_H_
