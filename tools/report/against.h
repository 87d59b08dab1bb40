// What the progress of a run is drawn against.
#ifndef TOOLS_REPORT_AGAINST_H_
#define TOOLS_REPORT_AGAINST_H_

#include "tools/report/run_records.h"
#include "tools/report/svg_plot.h"

namespace ps {

enum class Against { kIterations, kSeconds, kBytes };
constexpr Against kAllAgainst[] = {Against::kIterations, Against::kSeconds,
                                   Against::kBytes};

// The place of a row on the axis: iterations, bytes both ways, or seconds.
double PlaceOf(const IterationRow& row, Against against);
double PlaceOf(const EvaluationRow& row, Against against);

// Names the plot's axis and, unless it shows iterations, adds it to the title.
// Bytes and seconds are logarithmic where runs differ widely.
void NameAxis(Against against, Plot* plot);

}  // namespace ps

#endif  // TOOLS_REPORT_AGAINST_H_
