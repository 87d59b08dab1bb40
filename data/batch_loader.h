// Reads a worker's batches ahead of its computation.
#ifndef DATA_BATCH_LOADER_H_
#define DATA_BATCH_LOADER_H_

#include <cstdint>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/batch.h"
#include "common/mutex.h"
#include "data/dataset.h"
#include "data/sampler.h"

namespace ps {

struct BatchLoaderOptions {
  const Dataset* dataset = nullptr;  // Not owned; outlives the loader.
  const Sampler* sampler = nullptr;  // Copied.
  int worker_rank = 0;
  // Of the first batch, and the one after the last.
  int64_t first_iteration = 0;
  int64_t end_iteration = 0;
  // Threads that read, a batch each; at least 0, where 0 reads in Next().
  int num_threads = 1;
  // Batches that may lie ready; at least 1. They take memory, and a burst of
  // slow reads is not felt until they are used up.
  int prefetch_batches = 2;
};

// The batches of one worker, in order; their contents do not depend on
// num_threads or prefetch_batches. Buffers are used again, so that once all
// have had their largest batch nothing is allocated. Next() is for one thread.
class BatchLoader {
 public:
  explicit BatchLoader(const BatchLoaderOptions& options);
  // Waits for the reads that have begun.
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // The batch of the next iteration, with `continues` as the sampler has it;
  // the caller may change it (random_key). Valid until the next call. Not to be
  // called after the last iteration. Errors: those of Dataset::Read, in the
  // place of the batch that could not be read, and then again and again.
  absl::StatusOr<Batch*> Next();

 private:
  // Of iteration i, in slots_[i % slots_.size()]. Who reads into it or has it
  // from Next() owns `batch` and `status`; `ready` says that the reader is
  // done.
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
  Sampler sampler_;          // Of Next(), where nobody else reads.
  int64_t next_iteration_;   // Of Next().
  std::vector<Slot> slots_;  // One more than lie ready: the caller has it.

  Mutex mu_;
  CondVar changed_;
  int64_t next_read_ ABSL_GUARDED_BY(mu_);  // Iteration nobody has taken yet.
  // Iterations before this one have their slots free for use again.
  int64_t released_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace ps

#endif  // DATA_BATCH_LOADER_H_
