// Statistics of an exchange with the servers.
#ifndef WORKER_EXCHANGE_STATS_H_
#define WORKER_EXCHANGE_STATS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compressors/compressor.h"
#include "worker/timings.h"

namespace ps {

// Statistics of the exchange of one iteration's gradient. Counts are over all
// workers, unless stated otherwise.
struct ExchangeStats {
  Timings timings;  // All times except `compute`.
  double mean_loss = 0;
  int64_t sent_elements = 0;
  int64_t bytes_up = 0;
  int64_t bytes_down = 0;  // The bytes received by this worker.
  // The staleness, if each push is an update: the mean and the maximum, over
  // this worker's slices, of the number of others' updates between the weights
  // of its gradient and its own update.
  double mean_staleness = 0;
  int64_t max_staleness = 0;
  // The number of this worker's pushes that came too late for their update.
  int64_t dropped = 0;
  // The number of messages of this worker's pushes that were sent again.
  int64_t retries = 0;
  // The push that the servers expect next. If this push came too late, that may
  // be a later one than the following push.
  int64_t next_push = 0;
  // Whether SliceAnswer::stop was set in any answer.
  bool stop = false;
  // The statistics of this worker's compressors, one for each bucket.
  std::vector<CompressionStats> compression;
  // The share of this worker's elements that lies in compressed buckets, with
  // compressor "auto".
  std::optional<double> compressed_share;
};

// The traffic of averaging statistics. The fields are as in ExchangeStats.
struct AveragingStats {
  int64_t bytes_up = 0;
  int64_t bytes_down = 0;
};

}  // namespace ps

#endif  // WORKER_EXCHANGE_STATS_H_
