// A clock that tests move.
#ifndef TESTS_COMMON_MANUAL_CLOCK_H_
#define TESTS_COMMON_MANUAL_CLOCK_H_

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"

namespace ps {

// Thread-safe. Wakes nobody: whoever waits for a time looks at the clock again
// when something else happens.
class ManualClock final : public Clock {
 public:
  absl::Time Now() const override {
    MutexLock lock(&mu_);
    return now_;
  }

  void Advance(absl::Duration duration) {
    MutexLock lock(&mu_);
    now_ += duration;
  }

 private:
  mutable Mutex mu_;
  absl::Time now_ ABSL_GUARDED_BY(mu_) = absl::UnixEpoch();
};

}  // namespace ps

#endif  // TESTS_COMMON_MANUAL_CLOCK_H_
