// The runs of one job on one slow network beside each other.
#ifndef TOOLS_BENCH_NETWORK_COMPARISON_H_
#define TOOLS_BENCH_NETWORK_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/bench/network/measures.h"
#include "tools/report/run_records.h"
#include "tools/report/svg_plot.h"

namespace ps {

struct ComparedHost {
  std::string name;  // "worker-0".
  std::string address;
  std::string network_namespace;  // NetworkNamespace::id().
};

struct ComparedRun {
  std::string setting;  // NetworkSetting::name.
  std::string run_directory;
  std::string failure;     // Why it did not end well; empty: it did.
  int64_t link_bytes = 0;  // That all hosts sent during the run, frames.
  RunRecords records;      // Without iterations if it failed before the first.
  RunMeasures measures;    // Of the records.
};

struct NetworkComparison {
  std::string job;
  int64_t bits_per_second = 0;  // Asked for, of each host, each way.
  // From the first worker to the first server, and back: MeasureBandwidth().
  double measured_up = 0;
  double measured_down = 0;
  MeasureOptions options;
  // So many iterations of each run are timed at this bandwidth, and times to a
  // loss are estimated by them; 0: all are, and times are those of the run.
  int64_t timed_iterations = 0;
  std::vector<ComparedHost> hosts;
  // The first is what the others are compared with. Never empty where one of
  // the functions below is called.
  std::vector<ComparedRun> runs;
};

// The network's part of an iteration, if nothing else took time: what its
// messages take on the busiest link at the measured bandwidth, up or down, for
// both may pass at the same time. A link that was idle can be ahead of it by a
// filter's burst. NaN if the run has no measures.
double LinkSeconds(const NetworkComparison& comparison, const ComparedRun& run);

// How many times faster than the first run's its iterations are. NaN if one of
// the two is unknown.
double SpeedUp(const NetworkComparison& comparison, const ComparedRun& run);

// The same of the time to the target.
double TargetSpeedUp(const NetworkComparison& comparison,
                     const ComparedRun& run);

// NaN if it is not reached.
double SecondsToTarget(const ComparedRun& run);

// The records that say what was trained: of a run that got so far.
const RunRecords& AnyRecords(const NetworkComparison& comparison);

// Smoothed training loss against seconds of training.
Plot ComparisonPlot(const NetworkComparison& comparison);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_COMPARISON_H_
