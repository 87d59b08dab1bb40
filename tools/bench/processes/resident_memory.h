// How much memory another process has.
#ifndef TOOLS_BENCH_PROCESSES_RESIDENT_MEMORY_H_
#define TOOLS_BENCH_PROCESSES_RESIDENT_MEMORY_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

// Bytes that are in the machine's memory now, VmRSS. Errors: kNotFound if there
// is no such process; kDataLoss if the system writes what this does not
// understand, as it does of one that has ended and was not waited for.
absl::StatusOr<int64_t> ResidentBytesOf(pid_t pid);

// The same from the text of /proc/PID/status; `path` is for the error.
absl::StatusOr<int64_t> ParseResidentBytes(absl::string_view status_text,
                                           absl::string_view path);

}  // namespace ps

#endif  // TOOLS_BENCH_PROCESSES_RESIDENT_MEMORY_H_
