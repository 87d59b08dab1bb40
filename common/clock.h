// A clock for deadlines and durations, which setting the date does not move.
#ifndef COMMON_CLOCK_H_
#define COMMON_CLOCK_H_

#include "absl/time/time.h"

namespace ps {

// A source of time. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Counts from an arbitrary start and never goes back. It is not the time of
  // day: compare it only with times of the same clock.
  virtual absl::Time Now() const = 0;
};

// The system's monotonic clock. Never destroyed.
const Clock* SteadyClock();

}  // namespace ps

#endif  // COMMON_CLOCK_H_
