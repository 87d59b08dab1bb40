#include "common/thread_pool.h"

#include <algorithm>

namespace ps {

// The state of one loop. Chunks are claimed under the lock. They are long (tens
// of microseconds), so the lock costs nothing, and the thread checkers can
// verify every access.
struct ThreadPool::Loop {
  int64_t n;
  int64_t chunk_size;
  absl::FunctionRef<void(const ChunkRange&)> body;
  int64_t num_chunks;
  int64_t next = 0;  // First chunk that no thread has claimed.
  int64_t done = 0;  // Chunks whose body has returned.
};

ThreadPool::ThreadPool(int num_threads) { Start(num_threads); }

ThreadPool::~ThreadPool() { Stop(); }

void ThreadPool::Resize(int num_threads) {
  Stop();
  Start(num_threads);
}

void ThreadPool::Start(int num_threads) {
  {
    MutexLock lock(&mu_);
    stopping_ = false;
  }
  for (int i = 1; i < num_threads; ++i) {
    threads_.emplace_back("pool", [this] { Work(); });
  }
}

void ThreadPool::Stop() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    changed_.SignalAll();
  }
  for (Thread& thread : threads_) thread.Join();
  threads_.clear();
}

void ThreadPool::ParallelFor(int64_t n, int64_t chunk_size,
                             absl::FunctionRef<void(const ChunkRange&)> body) {
  Loop loop{n, chunk_size, body, NumChunks(n, chunk_size)};
  if (loop.num_chunks <= 0) return;
  MutexLock lock(&mu_);
  while (loop_ != nullptr) changed_.Wait(&mu_);
  loop_ = &loop;
  if (loop.num_chunks > 1) changed_.SignalAll();
  RunChunks(&loop);
  while (loop.done < loop.num_chunks) changed_.Wait(&mu_);
  loop_ = nullptr;
  changed_.SignalAll();
}

void ThreadPool::Work() {
  MutexLock lock(&mu_);
  while (!stopping_) {
    if (loop_ != nullptr && loop_->next < loop_->num_chunks) {
      RunChunks(loop_);
    } else {
      changed_.Wait(&mu_);
    }
  }
}

void ThreadPool::RunChunks(Loop* loop) {
  // The loop lives until its last chunk is done, and ParallelFor cannot return
  // while a thread still runs one. So `loop` is valid here whenever the lock is
  // held and a chunk is left.
  while (loop->next < loop->num_chunks) {
    ChunkRange range;
    range.index = loop->next++;
    range.begin = range.index * loop->chunk_size;
    range.end = std::min(loop->n, range.begin + loop->chunk_size);
    mu_.Unlock();
    loop->body(range);
    mu_.Lock();
    if (++loop->done == loop->num_chunks) {
      changed_.SignalAll();
      return;
    }
  }
}

}  // namespace ps
