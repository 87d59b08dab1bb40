#include "worker/task_thread.h"

#include <utility>

namespace ps {

TaskThread::TaskThread() : thread_("exchange", [this] { Work(); }) {}

TaskThread::~TaskThread() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    changed_.SignalAll();
  }
  thread_.Join();
}

absl::Status TaskThread::Run(Task task) {
  MutexLock lock(&mu_);
  if (!failure_.ok()) return failure_;
  tasks_.push_back(std::move(task));
  changed_.SignalAll();
  return absl::OkStatus();
}

absl::Status TaskThread::Await() {
  MutexLock lock(&mu_);
  while (working_ || !tasks_.empty()) changed_.Wait(&mu_);
  return std::exchange(failure_, absl::OkStatus());
}

void TaskThread::Work() {
  for (;;) {
    Task task;
    {
      MutexLock lock(&mu_);
      while (!stopping_ && tasks_.empty()) changed_.Wait(&mu_);
      if (stopping_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
      working_ = true;
    }
    const absl::Status status = task();
    // This destroys the task's state before Await can return.
    task = nullptr;
    MutexLock lock(&mu_);
    working_ = false;
    if (!status.ok()) {
      failure_ = status;
      tasks_.clear();
    }
    changed_.SignalAll();
  }
}

}  // namespace ps
