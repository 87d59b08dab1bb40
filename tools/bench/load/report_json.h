// The results of `gradsieve bench load`, for programs. docs/results.md lists
// the fields.
#ifndef TOOLS_BENCH_LOAD_REPORT_JSON_H_
#define TOOLS_BENCH_LOAD_REPORT_JSON_H_

#include <string>
#include <vector>

#include "tools/bench/load/measurement.h"

namespace ps {

// One load as a JSON object.
std::string LoadJson(const LoadRun& run);

// {"runs": [...]}, with the loads of a sweep.
std::string SweepJson(const std::vector<LoadRun>& runs);

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_REPORT_JSON_H_
