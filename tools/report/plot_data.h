// What a run has recorded, as report.js draws it.
#ifndef TOOLS_REPORT_PLOT_DATA_H_
#define TOOLS_REPORT_PLOT_DATA_H_

#include <string>

#include "common/json.h"
#include "tools/report/run_records.h"

namespace ps {

// If a run has more rows than this, neighbouring rows become one, because a
// reader could not tell them apart.
constexpr int kMostPoints = 140;

// {label, metric: "test accuracy", is_fraction, iterations, evaluations}. The
// latter two have columns {y}: "iteration", "seconds" and "bytes", and one for
// each value that the run has. Where rows were grouped, y are medians, and
// further lists `low` and `high` have the quartiles. What a group lacks is
// null. Columns without a finite number are left out.
Json RunPlotData(const RunRecords& run, const std::string& label);

}  // namespace ps

#endif  // TOOLS_REPORT_PLOT_DATA_H_
