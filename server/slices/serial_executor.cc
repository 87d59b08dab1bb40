#include "server/slices/serial_executor.h"

#include <utility>

namespace ps {

void SerialExecutor::Post(std::function<void()> event) {
  {
    MutexLock lock(&mu_);
    if (running_) {
      events_.push_back(std::move(event));
      return;
    }
    running_ = true;
  }
  for (;;) {
    event();
    // The event is destroyed now: it may own memory or callers.
    event = nullptr;
    MutexLock lock(&mu_);
    if (events_.empty()) {
      running_ = false;
      return;
    }
    event = std::move(events_.front());
    events_.pop_front();
  }
}

}  // namespace ps
