#include "server/timer.h"

#include <utility>

#include "absl/time/clock.h"

namespace ps {

Timer::Timer(ScheduleWork schedule) : schedule_(std::move(schedule)) {}

Timer::~Timer() { Stop(); }

void Timer::At(absl::Time time, std::function<void()> work) {
  MutexLock lock(&mu_);
  if (stopped_) return;
  work_.emplace(time, std::move(work));
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  changed_.SignalAll();
}

void Timer::Stop() {
  std::thread thread;
  {
    MutexLock lock(&mu_);
    stopped_ = true;
    work_.clear();
    thread.swap(thread_);
    changed_.SignalAll();
  }
  if (thread.joinable()) thread.join();
}

void Timer::Run() {
  for (;;) {
    std::function<void()> due;
    {
      MutexLock lock(&mu_);
      while (!stopped_ &&
             (work_.empty() || work_.begin()->first > absl::Now())) {
        changed_.WaitUntil(&mu_, work_.empty() ? absl::InfiniteFuture()
                                               : work_.begin()->first);
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
