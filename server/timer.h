// Calls functions at given times.
#ifndef SERVER_TIMER_H_
#define SERVER_TIMER_H_

#include <functional>
#include <map>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/thread.h"

namespace ps {

// A timer. Starts its thread on the first call of At. Thread-safe.
class Timer {
 public:
  // schedule(work) runs due work on some thread. If it is null, work runs on
  // the timer's own thread, and must then be short. `clock` is not owned.
  using ScheduleWork = std::function<void(std::function<void()> work)>;
  explicit Timer(ScheduleWork schedule = nullptr,
                 const Clock* clock = SteadyClock());

  // Calls Stop.
  ~Timer();

  // Runs `work` once, at this time of the clock or soon after. Does nothing
  // after Stop.
  void At(absl::Time time, std::function<void()> work);

  // Drops all work that is not due yet. After the call nothing more is
  // scheduled. Must not be called from work that runs on the timer's thread.
  void Stop();

 private:
  void Run();

  const ScheduleWork schedule_;
  const Clock* const clock_;
  Mutex mu_;
  CondVar changed_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::multimap<absl::Time, std::function<void()>> work_ ABSL_GUARDED_BY(mu_);
  Thread thread_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // SERVER_TIMER_H_
