// How much processor time and memory another process has used.
#ifndef TOOLS_BENCH_PROCESSES_USAGE_H_
#define TOOLS_BENCH_PROCESSES_USAGE_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

// Seconds of all threads, including those that have ended.
struct CpuTime {
  double user = 0;
  double system = 0;

  double total() const { return user + system; }
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

// The bytes of a process in physical memory now, VmRSS. Errors: kNotFound if
// there is no such process; kDataLoss if the system's text cannot be parsed, as
// for a process that has ended and was not waited for.
absl::StatusOr<int64_t> ResidentBytesOf(pid_t pid);

// Parses the same from the text of /proc/PID/status; `path` is for errors.
absl::StatusOr<int64_t> ParseResidentBytes(absl::string_view status_text,
                                           absl::string_view path);

}  // namespace ps

#endif  // TOOLS_BENCH_PROCESSES_USAGE_H_
