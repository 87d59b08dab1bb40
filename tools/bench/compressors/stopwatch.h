// Measures the time of a piece of work.
#ifndef TOOLS_BENCH_COMPRESSORS_STOPWATCH_H_
#define TOOLS_BENCH_COMPRESSORS_STOPWATCH_H_

#include <functional>

#include "absl/time/time.h"
#include "common/clock.h"

namespace ps {

inline double Milliseconds(const std::function<void()>& work) {
  const absl::Time start = SteadyClock()->Now();
  work();
  return absl::ToDoubleMilliseconds(SteadyClock()->Now() - start);
}

}  // namespace ps

#endif  // TOOLS_BENCH_COMPRESSORS_STOPWATCH_H_
