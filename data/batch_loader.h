// Reads a worker's batches ahead of its computation.
#ifndef DATA_BATCH_LOADER_H_
#define DATA_BATCH_LOADER_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/batch.h"
#include "common/mutex.h"
#include "common/thread.h"
#include "data/dataset.h"
#include "data/sampler.h"

namespace ps {

struct BatchLoaderOptions {
  const Dataset* dataset = nullptr;  // Not owned; outlives the loader.
  const Sampler* sampler = nullptr;  // Copied.
  int worker_rank = 0;
  // The iteration of the first batch, and the one after the last.
  int64_t first_iteration = 0;
  int64_t end_iteration = 0;
  // The number of reading threads, each of which reads one batch at a time; 0
  // reads in Next().
  int num_threads = 1;
  // The number of batches that may be ready in advance; at least 1. They take
  // memory, and hide a burst of slow reads until they are used up.
  int prefetch_batches = 2;
};

// Loads the batches of one worker, in order. Their contents do not depend on
// num_threads or prefetch_batches. Buffers are reused, so that nothing is
// allocated once every buffer has held its largest batch. Only one thread may
// call Next().
class BatchLoader {
 public:
  explicit BatchLoader(const BatchLoaderOptions& options);
  // Waits for reads in progress.
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // Returns the batch of the next iteration, with `continues` as the sampler
  // sets it. The caller may change the batch (for instance random_key). Valid
  // until the next call. Must not be called after the last iteration. Errors:
  // those of Dataset::Read, in place of the batch that could not be read; every
  // later call returns the same error.
  absl::StatusOr<Batch*> Next();

 private:
  // The batch of iteration i is in slots_[i % slots_.size()]. The thread that
  // reads into a slot, or got it from Next(), owns `batch` and `status`;
  // `ready` says that the reader is done.
  struct Slot {
    Batch batch;
    absl::Status status;
    bool ready = false;  // Guarded by mu_.
  };

  void Work();
  void Read(int64_t iteration, Sampler* sampler, Slot* slot) const;
  Slot* SlotOf(int64_t iteration) {
    return &slots_[iteration % static_cast<int64_t>(slots_.size())];
  }

  const BatchLoaderOptions options_;
  Sampler sampler_;          // Used by Next() if num_threads is 0.
  int64_t next_iteration_;   // Used by Next().
  std::vector<Slot> slots_;  // One slot more than may be ready: the caller's.

  Mutex mu_;
  CondVar changed_;
  int64_t next_read_ ABSL_GUARDED_BY(mu_);  // First iteration not yet taken.
  // The slots of iterations before this one are free for reuse.
  int64_t released_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Thread> threads_;
};

}  // namespace ps

#endif  // DATA_BATCH_LOADER_H_
