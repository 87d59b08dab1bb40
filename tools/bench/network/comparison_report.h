// A comparison of runs on a slow network, for people and for programs.
#ifndef TOOLS_BENCH_NETWORK_COMPARISON_REPORT_H_
#define TOOLS_BENCH_NETWORK_COMPARISON_REPORT_H_

#include <string>
#include <vector>

#include "tools/bench/network/comparison.h"

namespace ps {

// A row for each run, the meaning of the columns, a second table by phase if
// the records have phases, and the failures. There must be at least one run.
std::string ComparisonTable(const NetworkComparison& comparison);

// One object; unknown values are null. There must be at least one comparison,
// each with at least one run; several are in a list, "bandwidths".
std::string ComparisonJson(const std::vector<NetworkComparison>& comparisons);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_COMPARISON_REPORT_H_
