// Runs events one at a time without a thread of its own.
#ifndef SERVER_SLICES_SERIAL_EXECUTOR_H_
#define SERVER_SLICES_SERIAL_EXECUTOR_H_

#include <deque>
#include <functional>

#include "common/mutex.h"

namespace ps {

// The executor. Thread-safe. State that only events use needs no lock: each
// event sees the writes of earlier ones.
class SerialExecutor {
 public:
  // Runs `event` and those that arrive meanwhile, in order of arrival; or
  // leaves `event` to the call that is already running events, if there is one.
  // An event may post others.
  void Post(std::function<void()> event);

 private:
  Mutex mu_;
  bool running_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<std::function<void()>> events_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // SERVER_SLICES_SERIAL_EXECUTOR_H_
