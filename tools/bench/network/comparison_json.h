// A comparison of runs on a slow network, for programs.
#ifndef TOOLS_BENCH_NETWORK_COMPARISON_JSON_H_
#define TOOLS_BENCH_NETWORK_COMPARISON_JSON_H_

#include <string>
#include <vector>

#include "tools/bench/network/comparison.h"

namespace ps {

// One object; unknown values are null. There must be at least one comparison,
// each with at least one run; several are in a list, "bandwidths".
std::string ComparisonJson(const std::vector<NetworkComparison>& comparisons);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_COMPARISON_JSON_H_
