// The results of `gradsieve bench load`, for people and for programs.
#ifndef TOOLS_BENCH_LOAD_REPORT_H_
#define TOOLS_BENCH_LOAD_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/bench/load/measurement.h"

namespace ps {

// Latencies, processor time, and memory with its verdict, for one load.
std::string LoadText(const LoadRun& run);

// A row for each load: how time grows with workers or with parameters.
std::string SweepText(const std::vector<LoadRun>& runs);

// One load as a JSON object; docs/results.md lists the fields.
std::string LoadJson(const LoadRun& run);

// {"runs": [...]}, with the loads of a sweep.
std::string SweepJson(const std::vector<LoadRun>& runs);

// Errors: kFailedPrecondition naming the first server whose memory grows.
absl::Status CheckMemoryFlat(const LoadRun& run);

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_REPORT_H_
