// Counts the totals of a run so far.
#ifndef WORKER_RECORDS_RUN_TOTALS_H_
#define WORKER_RECORDS_RUN_TOTALS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "compressors/state_io.h"
#include "worker/exchange_stats.h"

namespace ps {

// Totals of the whole job, from its first iteration until now.
struct RunTotals {
  int64_t iterations = 0;
  double seconds = 0;  // The training time, without evaluation.
  double samples_per_second = 0;
  double achieved_ratio = 0;  // The elements sent over all elements.
  // The mean share of worker 0's elements in compressed buckets, with
  // compressor "auto"; all other elements were sent dense.
  std::optional<double> compressed_share;
  int64_t bytes_up = 0;  // The bytes of messages from workers to servers.
  int64_t bytes_down = 0;
  int64_t dense_bytes_up = 0;  // The bytes if all elements were sent as fp32.
  int64_t dense_bytes_down = 0;
  int64_t dropped = 0;  // Worker 0's pushes of slices that were late.
};

// One push of this worker, with the iterations that led to it.
struct MadePush {
  ExchangeStats stats;
  double seconds = 0;
  int64_t num_iterations = 0;   // The push's iterations.
  int64_t num_samples = 0;      // This worker's examples in them.
  int64_t iterations_done = 0;  // The whole job's iterations so far.
};

// The counter. Not thread-safe.
class RunTotalsCounter {
 public:
  RunTotalsCounter(int64_t num_workers, int64_t num_parameters)
      : num_workers_(num_workers), num_parameters_(num_parameters) {}

  void AddPush(const MadePush& outcome);
  void AddAveraging(const AveragingStats& stats);

  // Sets the iteration at which the job continues with different workers.
  void GoOnAt(int64_t iteration) { totals_.iterations = iteration; }

  // Save and load the totals for checkpoints. A counter with a different number
  // of workers may load them.
  void Save(StateWriter* writer) const;
  absl::Status Load(StateReader* reader);

  const RunTotals& totals() const { return totals_; }
  // The number of pushes that have been added.
  int64_t num_pushes() const { return num_pushes_; }

 private:
  const int64_t num_workers_;
  const int64_t num_parameters_;
  int64_t num_pushes_ = 0;
  // The next three are over all workers, whose number may have changed.
  int64_t num_elements_ = 0;  // The elements of all pushes.
  int64_t num_samples_ = 0;
  int64_t sent_elements_ = 0;
  RunTotals totals_;
};

}  // namespace ps

#endif  // WORKER_RECORDS_RUN_TOTALS_H_
