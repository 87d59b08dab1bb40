// What `gradsieve bench load` found out, for programs. docs/benchmarks.md lists
// the fields.
#ifndef TOOLS_BENCH_LOAD_REPORT_JSON_H_
#define TOOLS_BENCH_LOAD_REPORT_JSON_H_

#include <string>
#include <vector>

#include "tools/bench/load/measurement.h"

namespace ps {

// One load as a JSON object.
std::string LoadJson(const LoadRun& run);

// {"runs": [...]}: those of a sweep.
std::string SweepJson(const std::vector<LoadRun>& runs);

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_REPORT_JSON_H_
