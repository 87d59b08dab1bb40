// What an exchange with the servers did.
#ifndef WORKER_EXCHANGE_STATS_H_
#define WORKER_EXCHANGE_STATS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compressors/compressor.h"
#include "worker/exchange_phases.h"

namespace ps {

// What happened to one iteration's gradient. Counts are those of all workers
// together, except where it says otherwise.
struct ExchangeStats {
  ExchangePhases phases;
  double mean_loss = 0;
  int64_t sent_elements = 0;
  int64_t bytes_up = 0;
  int64_t bytes_down = 0;  // This worker's.
  // Of this worker's slices: how many updates of others came between the
  // weights of its gradient and its own, where each push is an update.
  double mean_staleness = 0;
  int64_t max_staleness = 0;
  // Pushes of this worker that came too late for their update.
  int64_t left_out = 0;
  // The push that the servers want next: not the one after this, where this
  // one came too late.
  int64_t next_push = 0;
  // This worker's compressors, one for each bucket.
  std::vector<CompressionStats> compression;
  // With compressor "auto": of this worker's elements, the share that lies in
  // buckets which were compressed.
  std::optional<double> compressed_share;
};

// What it took to average statistics. As in ExchangeStats.
struct AveragingStats {
  int64_t bytes_up = 0;
  int64_t bytes_down = 0;
};

}  // namespace ps

#endif  // WORKER_EXCHANGE_STATS_H_
