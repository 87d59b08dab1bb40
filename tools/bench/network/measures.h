// What the records of a run say about its speed.
#ifndef TOOLS_BENCH_NETWORK_MEASURES_H_
#define TOOLS_BENCH_NETWORK_MEASURES_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tools/report/run_records.h"

namespace ps {

struct MeasureOptions {
  // The first iterations are left out of means: connections open, caches fill,
  // thresholds settle. At least 0.
  int64_t warm_up = 5;
  // The training loss counts as the mean of so many iterations; at least 1.
  int64_t smoothing = 5;
  std::optional<double> target_loss;
};

// Iterations begin + 1 to end, counted from 1; end may be beyond the last.
struct IterationRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// When the smoothed loss first was at or below the target.
struct TargetReached {
  int64_t iteration = 0;  // From 1: the last of those that the mean is over.
  double seconds = 0;  // Of training, from its start to that iteration's end.
};

// Of some of a run's iterations. Numbers that the records do not give are NaN.
struct RunMeasures {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  int64_t iterations = 0;  // So many of them.
  // Seconds of an iteration.
  double mean = kUnknown;
  double deviation = kUnknown;  // Standard deviation; of one iteration unknown.
  double median = kUnknown;     // The upper one of two.
  double smallest = kUnknown;
  double largest = kUnknown;
  // Mean seconds of each phase, over the iterations that have it, in order of
  // first appearance.
  std::vector<std::pair<std::string, double>> phases;
  // Bytes of an iteration's messages, all workers together.
  double bytes_up = kUnknown;
  double bytes_down = kUnknown;
  double achieved_ratio = kUnknown;     // Mean.
  std::optional<TargetReached> target;  // Of all iterations.
};

// Of the iterations after the warm-up.
RunMeasures MeasureRun(const RunRecords& run, const MeasureOptions& options);

// Of these iterations; options.warm_up is not looked at.
RunMeasures MeasureRun(const RunRecords& run, const MeasureOptions& options,
                       const IterationRange& timed);

// None without a target in the options, or if it is not reached.
std::optional<TargetReached> FindTarget(const RunRecords& run,
                                        const MeasureOptions& options);

// Every iteration ends as if all had taken so many seconds.
void SetSecondsPerIteration(double seconds, RunRecords* run);

// By iteration: the mean of the training loss over it and those before it,
// `window` together; NaN while there are not so many, and where one of them is
// not finite.
std::vector<double> SmoothedLoss(const RunRecords& run, int64_t window);

// Whether the messages of a run went over links that carried so many bytes in
// its time, all together: each message crosses one link of its sender, with
// headers around it. Where workers drift apart the records estimate the bytes
// of the others by worker 0's: up to a tenth more may be theirs. Errors:
// kInternal with both numbers; kDataLoss if the records have no iteration.
absl::Status CheckLinkBytes(const RunRecords& run, int64_t link_bytes,
                            bool workers_drift);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_MEASURES_H_
