// What runs have recorded, as plots.
#ifndef TOOLS_REPORT_RUN_PLOTS_H_
#define TOOLS_REPORT_RUN_PLOTS_H_

#include <vector>

#include "tools/report/run_records.h"
#include "tools/report/svg_plot.h"

namespace ps {

// Each run is a line in every plot for which it has data.

// Loss and test results: for each a plot against each of kAllAgainst.
std::vector<std::vector<Plot>> ResultPlots(const std::vector<RunRecords>& runs);

// Throughput, bytes and compression, by iteration.
std::vector<Plot> ExchangePlots(const std::vector<RunRecords>& runs);

// All of these.
std::vector<Plot> ReportPlots(const std::vector<RunRecords>& runs);

}  // namespace ps

#endif  // TOOLS_REPORT_RUN_PLOTS_H_
