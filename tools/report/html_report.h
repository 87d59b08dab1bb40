// The page that shows one run, or several beside each other.
#ifndef TOOLS_REPORT_HTML_REPORT_H_
#define TOOLS_REPORT_HTML_REPORT_H_

#include <string>
#include <vector>

#include "tools/report/run_records.h"
#include "tools/report/svg_plot.h"

namespace ps {

// What can be drawn of these runs, each a line in every plot that it has
// something for.
std::vector<Plot> ReportPlots(const std::vector<RunRecords>& runs);

// One HTML file that needs nothing else: a table of the runs, what they
// recorded by iteration, and `more` plots. Plots of which no run has numbers
// are left out.
std::string HtmlReport(const std::vector<RunRecords>& runs,
                       const std::vector<Plot>& more);

// The table alone, as Markdown.
std::string MarkdownReport(const std::vector<RunRecords>& runs);

// What tells the runs apart: compressor, value code and target ratio; where
// those are the same for two, the jobs; where these are, the directories.
std::vector<std::string> RunLabels(const std::vector<RunRecords>& runs);

}  // namespace ps

#endif  // TOOLS_REPORT_HTML_REPORT_H_
