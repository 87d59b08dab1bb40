// A thread that runs tasks one after the other.
#ifndef WORKER_TASK_THREAD_H_
#define WORKER_TASK_THREAD_H_

#include <deque>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/mutex.h"

namespace ps {

// Thread-safe. What a task does is seen by whoever calls Await after it, and
// what was done before Run is seen by the task.
class TaskThread {
 public:
  using Task = std::function<absl::Status()>;

  TaskThread();
  // Ends with the task that is being done; those after it are dropped.
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // Runs the task after those before it, unless one of them fails: then it is
  // dropped. Returns the failure that there has been by now, without waiting.
  absl::Status Run(Task task);

  // Waits until nothing is left to do, and returns the first failure since the
  // last Await; then a new task runs again.
  absl::Status Await();

 private:
  void Work();

  Mutex mu_;
  CondVar changed_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mu_);
  bool working_ ABSL_GUARDED_BY(mu_) = false;  // On a task.
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace ps

#endif  // WORKER_TASK_THREAD_H_
