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
  // The number of first pushes that means leave out, because connections open,
  // caches fill and thresholds settle in them. At least 0.
  int64_t warm_up = 5;
  // The number of pushes over which the training loss is averaged; at least 1.
  int64_t smoothing = 5;
  std::optional<double> target_loss;
};

// Pushes begin + 1 to end, counted from 1; end may be beyond the last. Workers
// push in every iteration unless they take local steps.
struct PushRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// When the smoothed loss first was at or below the target.
struct TargetReached {
  int64_t iteration = 0;  // From 1; the last one in the mean.
  double seconds = 0;     // Training time up to that iteration's end.
};

// Measures of some of a run's iterations. Numbers that are not in the records
// are NaN.
struct RunMeasures {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  int64_t iterations = 0;  // Number of these iterations.
  // Seconds of an iteration: the mean over those of a push.
  double mean = kUnknown;
  double deviation = kUnknown;  // Standard deviation; of one iteration unknown.
  double median = kUnknown;     // The upper one of two.
  double smallest = kUnknown;
  double largest = kUnknown;
  // Mean seconds of each phase in an iteration, over those that have it, in
  // order of first appearance.
  std::vector<std::pair<std::string, double>> phases;
  // Bytes of an iteration's messages, all workers together.
  double bytes_up = kUnknown;
  double bytes_down = kUnknown;
  double achieved_ratio = kUnknown;     // Mean.
  std::optional<TargetReached> target;  // Over all iterations.
};

// Measures the iterations after the warm-up.
RunMeasures MeasureRun(const RunRecords& run, const MeasureOptions& options);

// Measures the given pushes and ignores options.warm_up.
RunMeasures MeasureRun(const RunRecords& run, const MeasureOptions& options,
                       const PushRange& timed);

// No value without a target in the options, or if it is not reached.
std::optional<TargetReached> FindTarget(const RunRecords& run,
                                        const MeasureOptions& options);

// Sets the times of all iterations as if each had taken this many seconds.
void SetSecondsPerIteration(double seconds, RunRecords* run);

// Checks that all messages of a run can have gone over links that carried
// `link_bytes` in total during the run: each message crosses one link of its
// sender, with headers around it. If workers drift apart, the records estimate
// the bytes of the other workers from those of worker 0, so they may exceed
// `link_bytes` by up to a tenth. Errors: kInternal with both numbers; kDataLoss
// if the records have no iteration.
absl::Status CheckLinkBytes(const RunRecords& run, int64_t link_bytes,
                            bool workers_drift);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_MEASURES_H_
