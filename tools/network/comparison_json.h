// A comparison of runs on a slow network, for programs.
#ifndef TOOLS_NETWORK_COMPARISON_JSON_H_
#define TOOLS_NETWORK_COMPARISON_JSON_H_

#include <string>

#include "tools/network/comparison.h"

namespace ps {

// One object; what is unknown is null. There is at least one run.
std::string ComparisonJson(const NetworkComparison& comparison);

}  // namespace ps

#endif  // TOOLS_NETWORK_COMPARISON_JSON_H_
