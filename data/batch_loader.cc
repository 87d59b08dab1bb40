#include "data/batch_loader.h"

#include "glog/logging.h"

namespace ps {

BatchLoader::BatchLoader(const BatchLoaderOptions& options)
    : options_(options),
      sampler_(*options.sampler),
      next_iteration_(options.first_iteration),
      slots_(options.num_threads == 0 ? 1 : options.prefetch_batches + 1),
      next_read_(options.first_iteration),
      released_(options.first_iteration) {
  CHECK_GE(options_.num_threads, 0);
  CHECK_GE(options_.prefetch_batches, 1);
  for (int i = 0; i < options_.num_threads; ++i) {
    threads_.emplace_back("loader", [this] { Work(); });
  }
}

BatchLoader::~BatchLoader() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    changed_.SignalAll();
  }
  for (Thread& thread : threads_) thread.Join();
}

void BatchLoader::Read(int64_t iteration, Sampler* sampler, Slot* slot) const {
  const int64_t epoch = iteration / sampler->iterations_per_epoch();
  slot->status = options_.dataset->Read(
      sampler->Numbers(iteration, options_.worker_rank), epoch, &slot->batch);
  slot->batch.continues = sampler->Continues(iteration);
}

void BatchLoader::Work() {
  // A sampler keeps an epoch's permutation, so each thread needs its own.
  Sampler sampler = *options_.sampler;
  for (;;) {
    int64_t iteration;
    Slot* slot;
    {
      MutexLock lock(&mu_);
      const int64_t num_slots = static_cast<int64_t>(slots_.size());
      while (!stopping_ && next_read_ < options_.end_iteration &&
             next_read_ >= released_ + num_slots) {
        changed_.Wait(&mu_);
      }
      if (stopping_ || next_read_ >= options_.end_iteration) return;
      iteration = next_read_++;
      slot = SlotOf(iteration);
    }
    Read(iteration, &sampler, slot);
    MutexLock lock(&mu_);
    slot->ready = true;
    // No caller asks for batches after an error.
    if (!slot->status.ok()) stopping_ = true;
    changed_.SignalAll();
  }
}

absl::StatusOr<Batch*> BatchLoader::Next() {
  CHECK_LT(next_iteration_, options_.end_iteration);
  Slot* slot = SlotOf(next_iteration_);
  if (options_.num_threads == 0) {
    Read(next_iteration_, &sampler_, slot);
  } else {
    MutexLock lock(&mu_);
    // The caller has held this batch until now.
    if (next_iteration_ > released_) {
      SlotOf(released_)->ready = false;
      ++released_;
      changed_.SignalAll();
    }
    while (!slot->ready) changed_.Wait(&mu_);
  }
  // The slot is kept, so that the next call returns the error again.
  if (!slot->status.ok()) return slot->status;
  ++next_iteration_;
  return &slot->batch;
}

}  // namespace ps
