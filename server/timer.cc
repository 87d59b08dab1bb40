#include "server/timer.h"

#include <utility>

namespace ps {

Timer::Timer(ScheduleWork schedule, const Clock* clock)
    : schedule_(std::move(schedule)), clock_(clock) {}

Timer::~Timer() { Stop(); }

void Timer::At(absl::Time time, std::function<void()> work) {
  MutexLock lock(&mu_);
  if (stopped_) return;
  work_.emplace(time, std::move(work));
  if (!thread_.joinable()) thread_ = Thread("timer", [this] { Run(); });
  changed_.SignalAll();
}

void Timer::Stop() {
  Thread thread;
  {
    MutexLock lock(&mu_);
    stopped_ = true;
    work_.clear();
    thread = std::move(thread_);
    changed_.SignalAll();
  }
  if (thread.joinable()) thread.Join();
}

void Timer::Run() {
  for (;;) {
    std::function<void()> due;
    {
      MutexLock lock(&mu_);
      while (!stopped_ &&
             (work_.empty() || work_.begin()->first > clock_->Now())) {
        if (work_.empty()) {
          changed_.Wait(&mu_);
        } else {
          changed_.WaitFor(&mu_, work_.begin()->first - clock_->Now());
        }
      }
      if (stopped_) return;
      due = std::move(work_.begin()->second);
      work_.erase(work_.begin());
    }
    if (schedule_ != nullptr) {
      schedule_(std::move(due));
    } else {
      due();
    }
  }
}

}  // namespace ps
