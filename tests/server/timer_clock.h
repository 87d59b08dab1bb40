// A timer whose clock stands still until the test lets time pass.
#ifndef TESTS_SERVER_TIMER_CLOCK_H_
#define TESTS_SERVER_TIMER_CLOCK_H_

#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/timer.h"
#include "tests/common/manual_clock.h"

namespace ps {

// Must end before what its timer calls.
class TimerClock {
 public:
  ManualClock* clock() { return &clock_; }
  Timer* timer() { return &timer_; }

  // Lets this time pass, and waits until the timer has run all work that is
  // due; it runs work in order.
  void Pass(absl::Duration time) {
    clock_.Advance(time);
    Mutex mu;
    CondVar changed;
    bool called = false;
    timer_.At(clock_.Now(), [&] {
      MutexLock lock(&mu);
      called = true;
      changed.SignalAll();
    });
    MutexLock lock(&mu);
    while (!called) changed.Wait(&mu);
  }

 private:
  ManualClock clock_;
  Timer timer_{nullptr, &clock_};
};

}  // namespace ps

#endif  // TESTS_SERVER_TIMER_CLOCK_H_
