// The page that shows one run or compares several.
#ifndef TOOLS_REPORT_HTML_REPORT_H_
#define TOOLS_REPORT_HTML_REPORT_H_

#include <string>
#include <vector>

#include "tools/report/run_records.h"
#include "tools/report/svg_plot.h"

namespace ps {

// A self-contained HTML file without scripts: tables of the runs, plots of what
// they recorded, and the plots in `more`. Plots for which no run has numbers
// are left out.
std::string HtmlReport(const std::vector<RunRecords>& runs,
                       const std::vector<Plot>& more);

}  // namespace ps

#endif  // TOOLS_REPORT_HTML_REPORT_H_
