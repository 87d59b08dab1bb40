// Feeds the batches of one worker's iterations.
#ifndef WORKER_BATCH_FEED_H_
#define WORKER_BATCH_FEED_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/batch.h"
#include "data/batch_loader.h"
#include "proto/config.pb.h"
#include "worker/training_parts.h"

namespace ps {

// The feed. Not thread-safe; reads ahead on threads of its own.
class BatchFeed {
 public:
  // Feeds iterations [first, parts.plan->total_iterations); recurrent layers
  // must have the state after the one before `first`. `config` and `parts` are
  // not owned and must outlive this object.
  BatchFeed(const JobConfig& config, int worker_rank,
            const TrainingParts& parts, int64_t first = 0);

  // Returns the batch of an iteration, which must be higher than in the
  // previous call. If iterations are skipped, recurrent layers start with a
  // fresh state. The batch's random key depends on the job's seed, this worker
  // and the iteration. The pointer is valid until the next call.
  absl::StatusOr<Batch*> At(int64_t iteration);

  // Returns the batch of the iteration after the latest call of At, which
  // returns the same one if that iteration is next; null after the last
  // iteration. Ends the validity of the earlier batch, as At does.
  absl::StatusOr<Batch*> Peek();

 private:
  absl::Status Read();

  const uint64_t seed_;
  const int worker_rank_;
  const int64_t end_;
  BatchLoader loader_;
  int64_t next_;             // The iteration after the latest call of At.
  int64_t read_;             // The iteration of the loader's next batch.
  Batch* latest_ = nullptr;  // The loader's latest batch, of read_ - 1.
};

}  // namespace ps

#endif  // WORKER_BATCH_FEED_H_
