// A comparison of runs on a slow network, for people.
#ifndef TOOLS_BENCH_NETWORK_COMPARISON_TABLE_H_
#define TOOLS_BENCH_NETWORK_COMPARISON_TABLE_H_

#include <string>

#include "tools/bench/network/comparison.h"

namespace ps {

// A row for each run, what the columns mean, another table by phase if the
// records have phases, and the failures. There is at least one run.
std::string ComparisonTable(const NetworkComparison& comparison);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_COMPARISON_TABLE_H_
