// A comparison of runs on a slow network, for people.
#ifndef TOOLS_BENCH_NETWORK_COMPARISON_TABLE_H_
#define TOOLS_BENCH_NETWORK_COMPARISON_TABLE_H_

#include <string>

#include "tools/bench/network/comparison.h"

namespace ps {

// A row for each run, the meaning of the columns, a second table by phase if
// the records have phases, and the failures. There must be at least one run.
std::string ComparisonTable(const NetworkComparison& comparison);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_COMPARISON_TABLE_H_
