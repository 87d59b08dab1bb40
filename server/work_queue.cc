#include "server/work_queue.h"

#include <utility>

namespace ps {

WorkQueue::WorkQueue(int num_threads) {
  for (int i = 0; i < num_threads; ++i) {
    threads_.emplace_back("work queue", [this] { Run(); });
  }
}

WorkQueue::~WorkQueue() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    changed_.SignalAll();
  }
  for (Thread& thread : threads_) thread.Join();
}

void WorkQueue::Schedule(std::function<void()> work) {
  MutexLock lock(&mu_);
  work_.push_back(std::move(work));
  changed_.SignalAll();
}

int64_t WorkQueue::size() const {
  MutexLock lock(&mu_);
  return static_cast<int64_t>(work_.size());
}

void WorkQueue::Run() {
  for (;;) {
    std::function<void()> work;
    {
      MutexLock lock(&mu_);
      while (work_.empty() && !stopping_) changed_.Wait(&mu_);
      if (work_.empty()) return;
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
  }
}

}  // namespace ps
