// Calls functions when it is time.
#ifndef SERVER_TIMER_H_
#define SERVER_TIMER_H_

#include <functional>
#include <map>
#include <thread>

#include "absl/time/time.h"
#include "common/mutex.h"

namespace ps {

// Has a thread from the first call of At on. Thread-safe.
class Timer {
 public:
  // schedule(work) runs what is due on some thread; null: on the timer's own,
  // which then must not take long.
  using ScheduleWork = std::function<void(std::function<void()> work)>;
  explicit Timer(ScheduleWork schedule = nullptr);

  // As Stop.
  ~Timer();

  // Once, at this time or soon after. Nothing after Stop.
  void At(absl::Time time, std::function<void()> work);

  // What is not due yet is forgotten. Returns when nothing more is scheduled;
  // not to be called from work that runs on the timer's thread.
  void Stop();

 private:
  void Run();

  const ScheduleWork schedule_;
  Mutex mu_;
  CondVar changed_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::multimap<absl::Time, std::function<void()>> work_ ABSL_GUARDED_BY(mu_);
  std::thread thread_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // SERVER_TIMER_H_
