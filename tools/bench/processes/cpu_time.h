// How much processor time another process has used.
#ifndef TOOLS_BENCH_PROCESSES_CPU_TIME_H_
#define TOOLS_BENCH_PROCESSES_CPU_TIME_H_

#include <sys/types.h>

#include "absl/status/statusor.h"

namespace ps {

// Seconds of all threads, including those that have ended.
struct CpuTime {
  double user = 0;
  double system = 0;

  CpuTime& operator+=(const CpuTime& other) {
    user += other.user;
    system += other.system;
    return *this;
  }
  CpuTime& operator-=(const CpuTime& other) {
    user -= other.user;
    system -= other.system;
    return *this;
  }
};

// The time since the process began, in steps of the system's clock tick,
// usually 10 ms. Errors: kNotFound if there is no such process; kDataLoss if
// the system's text cannot be parsed.
absl::StatusOr<CpuTime> CpuTimeOf(pid_t pid);

}  // namespace ps

#endif  // TOOLS_BENCH_PROCESSES_CPU_TIME_H_
