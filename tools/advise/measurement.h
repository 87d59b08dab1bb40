// Trains a job on this machine for a few seconds to see what its parts take.
#ifndef TOOLS_ADVISE_MEASUREMENT_H_
#define TOOLS_ADVISE_MEASUREMENT_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tools/process/signals.h"
#include "tools/process/temporary_directory.h"
#include "tools/report/run_records.h"

namespace ps {

struct MeasurementOptions {
  JobConfig config;  // Validated and synchronous.
  // What each worker runs, if the job's model is external.
  std::vector<std::string> worker_command;
  std::string run_directory;  // Made for this measurement.
  // Training time to measure, after the warm-up. At least kMeasuredPushes are
  // measured.
  double seconds = 2;
  Interrupts* interrupts = nullptr;  // Not owned.
};

constexpr int64_t kMeasuredPushes = 6;

// Of an iteration, with all processes on this machine. Seconds and bytes; the
// time of the whole is a median, the others are means.
struct LocalMeasures {
  double iteration = 0;
  // Phases of worker 0.
  double compute = 0;
  double codec = 0;  // Compressing, and writing answers into the weights.
  double apply = 0;  // The second part of it.
  double await = 0;
  // Work of one server for all workers: sums, optimizer, encoding.
  double server = 0;
  double server_sum = 0;  // The first part of it.
  // What the messages of all workers take of the servers' processors: copying,
  // encrypting, and the kernel. 0: not measured.
  double messages = 0;
  // Between a worker's last bit of work and its first push: what neither links
  // nor processors explain. Not measured by MeasureLocally().
  double latency = 0;
  // Bytes of the messages of all workers.
  double bytes_up = 0;
  double bytes_down = 0;
  double achieved_ratio = 0;
  // How many times as long a worker computes as if it had the machine alone.
  // Not measured by MeasureLocally().
  double contention = 1;
  // Of the machine.
  double processors = std::numeric_limits<double>::infinity();
  int64_t num_parameters = 0;
  int64_t iterations = 0;  // Number that was measured.
};

// Starts the job's servers and workers, which talk over the loopback interface,
// and stops them when enough is measured. Shows progress on stdout. Errors:
// those of RunLocalCluster; kDataLoss if the run ended too early.
absl::StatusOr<LocalMeasures> MeasureLocally(const MeasurementOptions& options);

// Makes measurements one after the other. Not thread-safe.
class Measurer {
 public:
  // Each measurement trains for at least `seconds`. Errors: those of
  // FindJobPrograms, Interrupts and TemporaryDirectory.
  static absl::StatusOr<std::unique_ptr<Measurer>> Create(
      double seconds, std::vector<std::string> worker_command = {});

  // Measures the job of this name with this many workers. Errors: kCancelled
  // after Ctrl-C; those of MeasureLocally, with the name.
  absl::StatusOr<LocalMeasures> Measure(const std::string& name,
                                        const JobConfig& config,
                                        int num_workers);

 private:
  Measurer() = default;

  MeasurementOptions options_;
  std::unique_ptr<Interrupts> interrupts_;
  std::unique_ptr<TemporaryDirectory> directory_;
  int num_runs_ = 0;
};

// Takes the measures from a run's records, without the warm-up. Errors:
// kDataLoss if there are not enough pushes, or no phases.
absl::StatusOr<LocalMeasures> TakeMeasures(const RunRecords& records);

}  // namespace ps

#endif  // TOOLS_ADVISE_MEASUREMENT_H_
