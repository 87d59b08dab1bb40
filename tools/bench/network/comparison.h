// Compares the runs of one job on one slow network.
#ifndef TOOLS_BENCH_NETWORK_COMPARISON_H_
#define TOOLS_BENCH_NETWORK_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/bench/network/measures.h"
#include "tools/report/run_records.h"

namespace ps {

struct ComparedHost {
  std::string name;  // "worker-0".
  std::string address;
  std::string network_namespace;  // NetworkNamespace::id().
};

struct ComparedRun {
  std::string setting;  // NetworkSetting::name.
  std::string run_directory;
  std::string failure;     // Why it failed; empty if it did not.
  int64_t link_bytes = 0;  // Frames that all hosts sent during the run.
  RunRecords records;      // Without iterations if it failed before the first.
  RunMeasures measures;    // Computed from the records.
};

struct NetworkComparison {
  std::string job;
  int64_t bits_per_second = 0;  // Requested, per host and direction.
  // From the first worker to the first server, and back: MeasureBandwidth().
  double measured_up = 0;
  double measured_down = 0;
  MeasureOptions options;
  // The number of iterations of each run that are timed at this bandwidth, from
  // which times to a loss are estimated. 0: all iterations are timed, and times
  // are those of the run.
  int64_t timed_iterations = 0;
  std::vector<ComparedHost> hosts;
  // The others are compared with the first. Must not be empty when one of the
  // functions below is called.
  std::vector<ComparedRun> runs;
};

// The time of an iteration if only the network took time: that of its messages
// on the busiest link at the measured bandwidth, up or down, since both
// directions can be used at the same time. A link that was idle can be ahead of
// this by a filter's burst. NaN if the run has no measures.
double LinkSeconds(const NetworkComparison& comparison, const ComparedRun& run);

// How many times faster the run's iterations are than those of the first run.
// NaN if one of the two is unknown.
double SpeedUp(const NetworkComparison& comparison, const ComparedRun& run);

// The same for the time to the target.
double TargetSpeedUp(const NetworkComparison& comparison,
                     const ComparedRun& run);

// NaN if the target is not reached.
double SecondsToTarget(const ComparedRun& run);

// The records of a run that has some, which say what was trained.
const RunRecords& AnyRecords(const NetworkComparison& comparison);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_COMPARISON_H_
