#include "tools/bench/network/comparison.h"

#include <algorithm>

namespace ps {

double LinkSeconds(const NetworkComparison& comparison,
                   const ComparedRun& run) {
  // Both directions use the links of the workers and those of the servers
  // evenly. Each link carries more on the side that has fewer.
  const double links =
      std::min(run.records.num_workers, run.records.num_servers);
  return 8 / links *
         std::max(run.measures.bytes_up / comparison.measured_up,
                  run.measures.bytes_down / comparison.measured_down);
}

double SpeedUp(const NetworkComparison& comparison, const ComparedRun& run) {
  return comparison.runs.front().measures.mean / run.measures.mean;
}

double SecondsToTarget(const ComparedRun& run) {
  return run.measures.target.has_value() ? run.measures.target->seconds
                                         : RunMeasures::kUnknown;
}

double TargetSpeedUp(const NetworkComparison& comparison,
                     const ComparedRun& run) {
  return SecondsToTarget(comparison.runs.front()) / SecondsToTarget(run);
}

const RunRecords& AnyRecords(const NetworkComparison& comparison) {
  for (const ComparedRun& run : comparison.runs) {
    if (!run.records.model.empty()) return run.records;
  }
  return comparison.runs.front().records;
}

}  // namespace ps
