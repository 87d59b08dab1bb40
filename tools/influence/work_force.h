// Hands units of work out to processes, and again what is lost with a process.
#ifndef TOOLS_INFLUENCE_WORK_FORCE_H_
#define TOOLS_INFLUENCE_WORK_FORCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace ps {

// A process reads "unit N" lines from its standard input, does each, and then
// writes "done N" to its standard output. It ends when its input does. If a
// unit cannot be done, it writes "error CODE MESSAGE", with the number of an
// absl::StatusCode, and ends. Doing a unit twice must have the same effect as
// doing it once.
struct WorkForceOptions {
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
absl::Status DoAllUnits(const WorkForceOptions& options);

// The other side: calls `work` for each unit that standard input names. Returns
// the exit code.
int ServeUnits(const std::function<absl::Status(int64_t unit)>& work);

}  // namespace ps

#endif  // TOOLS_INFLUENCE_WORK_FORCE_H_
