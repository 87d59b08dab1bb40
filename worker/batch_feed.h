// The batches of one worker's iterations.
#ifndef WORKER_BATCH_FEED_H_
#define WORKER_BATCH_FEED_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/batch.h"
#include "data/batch_loader.h"
#include "proto/config.pb.h"
#include "worker/training_parts.h"

namespace ps {

// Not thread-safe; reads ahead on threads of its own.
class BatchFeed {
 public:
  // Feeds iterations [0, parts.total_iterations). `config` and `parts` are not
  // owned and must outlive this object.
  BatchFeed(const JobConfig& config, int worker_rank,
            const TrainingParts& parts);

  // The batch of an iteration, which must be higher than in the previous call.
  // If iterations are skipped, recurrent layers start with a fresh state. The
  // batch's random key depends on the job's seed, this worker and the
  // iteration. The pointer is valid until the next call.
  absl::StatusOr<Batch*> At(int64_t iteration);

 private:
  const uint64_t seed_;
  const int worker_rank_;
  BatchLoader loader_;
  int64_t next_ = 0;  // The iteration of the loader's next batch.
};

}  // namespace ps

#endif  // WORKER_BATCH_FEED_H_
