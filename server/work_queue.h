// The server's own threads, so that gRPC's threads never wait for arithmetic.
#ifndef SERVER_WORK_QUEUE_H_
#define SERVER_WORK_QUEUE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "common/mutex.h"
#include "common/thread.h"

namespace ps {

// A pool of threads. Thread-safe.
class WorkQueue {
 public:
  explicit WorkQueue(int num_threads);

  // Runs the work that is still queued, then joins the threads.
  ~WorkQueue();

  // Runs `work` soon on a thread of the queue. With one thread, work runs in
  // order.
  void Schedule(std::function<void()> work);

  // The number of works that have not begun.
  int64_t size() const;

 private:
  void Run();

  mutable Mutex mu_;
  CondVar changed_;
  std::deque<std::function<void()>> work_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Thread> threads_;
};

}  // namespace ps

#endif  // SERVER_WORK_QUEUE_H_
