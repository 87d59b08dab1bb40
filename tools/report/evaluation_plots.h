// How good the runs' weights were on the test set, as plots and as text.
#ifndef TOOLS_REPORT_EVALUATION_PLOTS_H_
#define TOOLS_REPORT_EVALUATION_PLOTS_H_

#include <string>
#include <vector>

#include "tools/report/run_records.h"
#include "tools/report/svg_plot.h"

namespace ps {

// For each metric that any run has, in order of first use, a plot against each
// of kAllAgainst. series[i]: name and colour of run i.
std::vector<std::vector<Plot>> EvaluationPlots(
    const std::vector<RunRecords>& runs, const std::vector<PlotSeries>& series);

}  // namespace ps

#endif  // TOOLS_REPORT_EVALUATION_PLOTS_H_
