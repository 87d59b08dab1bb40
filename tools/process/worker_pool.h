// Hands units of work out to processes, and again what is lost with a process.
#ifndef TOOLS_PROCESS_WORKER_POOL_H_
#define TOOLS_PROCESS_WORKER_POOL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace ps {

// A process is asked for a unit by its number (requests.h), answers with the
// number when the unit is done, and ends when its input does. Doing a unit
// twice must have the same effect as doing it once.
struct WorkerPoolOptions {
  std::vector<std::string> command;  // Of one process.
  int64_t num_processes = 1;         // At most; no more than there are units.
  // Units with equal numbers here, such as those of one checkpoint, go to the
  // same process where possible: [units].
  std::vector<int64_t> groups;
  // Called when units are done, with how many are, and when one is lost, with
  // what to tell people. May be null.
  std::function<void(int64_t done)> progress;
  std::function<void(const std::string& message)> lost;
};

// Returns when all units are done. A process that ends without an error message
// is replaced, and its unit is given to another process. Errors: that of a
// process; kAborted if the same unit was lost three times; kCancelled after
// SIGINT or SIGTERM; those of Subprocesses.
absl::Status DoAllUnits(const WorkerPoolOptions& options);

}  // namespace ps

#endif  // TOOLS_PROCESS_WORKER_POOL_H_
