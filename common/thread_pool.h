// A fixed set of threads for loops over long arrays.
#ifndef COMMON_THREAD_POOL_H_
#define COMMON_THREAD_POOL_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "common/mutex.h"
#include "common/thread.h"

namespace ps {

// Elements [begin, end) of a loop; `index` counts chunks from 0.
struct ChunkRange {
  int64_t index = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

// A thread pool. Thread-safe: loops of several callers run one after the other.
class ThreadPool {
 public:
  // num_threads is at least 1 and includes the thread that calls ParallelFor.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return static_cast<int>(threads_.size()) + 1; }
  // Changes the number of threads. No loop may be running.
  void Resize(int num_threads);

  // Calls `body` for every chunk of [0, n) and returns when all are done. Every
  // chunk but the last has `chunk_size` elements. The chunks do not depend on
  // the number of threads, so a body that stores its results by chunk gives the
  // same bits with any number. `body` must not start a loop on the same pool.
  void ParallelFor(int64_t n, int64_t chunk_size,
                   absl::FunctionRef<void(const ChunkRange&)> body);

 private:
  // The state of one call of ParallelFor, which lives on its stack.
  struct Loop;

  void Start(int num_threads);
  void Stop();
  void Work();
  void RunChunks(Loop* loop) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  CondVar changed_;
  Loop* loop_ ABSL_GUARDED_BY(mu_) = nullptr;  // Null between loops.
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Thread> threads_;
};

// The number of chunks into which ParallelFor cuts n elements.
inline int64_t NumChunks(int64_t n, int64_t chunk_size) {
  return (n + chunk_size - 1) / chunk_size;
}

}  // namespace ps

#endif  // COMMON_THREAD_POOL_H_
