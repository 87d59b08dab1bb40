// A thread that runs tasks one after the other.
#ifndef WORKER_TASK_THREAD_H_
#define WORKER_TASK_THREAD_H_

#include <deque>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/mutex.h"
#include "common/thread.h"

namespace ps {

// The thread. Thread-safe. A task's effects are visible after the next Await,
// and everything done before Run is visible to the task.
class TaskThread {
 public:
  using Task = std::function<absl::Status()>;

  TaskThread();
  // Waits for the running task; tasks after it are dropped.
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // Queues the task, which runs after all earlier ones; if one of those fails,
  // the task is dropped. Does not wait. Returns the first failure since the
  // last Await, if there has been one.
  absl::Status Run(Task task);

  // Waits until no task is left and returns the first failure since the last
  // Await. Afterwards new tasks run again.
  absl::Status Await();

 private:
  void Work();

  Mutex mu_;
  CondVar changed_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mu_);
  bool working_ ABSL_GUARDED_BY(mu_) = false;  // A task is running.
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  Thread thread_;
};

}  // namespace ps

#endif  // WORKER_TASK_THREAD_H_
