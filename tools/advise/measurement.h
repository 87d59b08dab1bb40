// Trains a job on this machine for a few seconds to see what its parts take.
#ifndef TOOLS_ADVISE_MEASUREMENT_H_
#define TOOLS_ADVISE_MEASUREMENT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tools/process/signals.h"
#include "tools/report/run_records.h"

namespace ps {

struct MeasurementOptions {
  JobConfig config;           // Validated and synchronous.
  std::string run_directory;  // Made for this measurement.
  // Training time to measure, after the warm-up. At least kMeasuredIterations
  // iterations are measured.
  double seconds = 2;
  Interrupts* interrupts = nullptr;  // Not owned.
};

constexpr int64_t kMeasuredIterations = 6;

// Means of an iteration, with all processes on this machine. Seconds and bytes.
struct LocalMeasures {
  // The time of an iteration: the median or, if workers do not push in every
  // iteration, the mean.
  double iteration = 0;
  // Phases of worker 0.
  double compute = 0;
  double codec = 0;  // Compressing, and writing answers into the weights.
  double await = 0;
  // Work of one server for all workers: sums, optimizer, encoding.
  double server = 0;
  // Bytes of the messages of all workers.
  double bytes_up = 0;
  double bytes_down = 0;
  double achieved_ratio = 0;
  // How many times as long a worker computes as if it had the machine alone.
  // Not measured by MeasureLocally().
  double contention = 1;
  int64_t num_parameters = 0;
  int64_t iterations = 0;  // Number that was measured.
};

// Starts the job's servers and workers, which talk over the loopback interface,
// and stops them when enough is measured. Shows progress on stdout. Errors:
// those of RunLocalCluster; kDataLoss if the run ended too early.
absl::StatusOr<LocalMeasures> MeasureLocally(const MeasurementOptions& options);

// Takes the measures from a run's records, without the warm-up. Errors:
// kDataLoss if there are not enough iterations, or no phases.
absl::StatusOr<LocalMeasures> TakeMeasures(const RunRecords& records,
                                           int64_t local_steps);

}  // namespace ps

#endif  // TOOLS_ADVISE_MEASUREMENT_H_
