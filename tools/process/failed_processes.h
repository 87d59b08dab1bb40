// Which process of a job failed first.
#ifndef TOOLS_PROCESS_FAILED_PROCESSES_H_
#define TOOLS_PROCESS_FAILED_PROCESSES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tools/process/subprocesses.h"

namespace ps {

struct FailedProcess {
  std::string name;  // "worker-0".
  ProcessExit exit;
  std::string error;        // The last one in its log; empty if there is none.
  std::string description;  // Of its end, for the user.
};

// Processes end in another order than they fail: a server that says "worker 0
// (host:4711) gave up" may have ended before that worker has. Not thread-safe.
class FailedProcesses {
 public:
  void Add(FailedProcess process) { processes_.push_back(std::move(process)); }
  bool empty() const { return processes_.empty(); }

  // Begins with the process that ended first, and goes on to the one that its
  // error names as long as that one has failed, too. A process that was killed,
  // or whose command line, job or data is wrong (exit codes 64 and 78), is a
  // first one whatever its error says. Needs a failed process.
  const FailedProcess& First() const;

  // Its end as an error, from which ExitCodeFor makes the launcher's code.
  // kUnavailable for a process that was killed, or that says that it may be
  // started again (75); kFailedPrecondition for 78; otherwise kAborted.
  absl::Status Status() const;

  // The process that the error of First() names and that has not failed;
  // empty: none.
  std::string Named() const;

 private:
  const FailedProcess* Find(const std::string& name) const;

  std::vector<FailedProcess> processes_;  // In the order of their ends.
};

// The processes that a message names as "server 0" or "worker 1", as
// "server-0" and "worker-1", in the order of the text.
std::vector<std::string> ProcessesNamedIn(absl::string_view message);

}  // namespace ps

#endif  // TOOLS_PROCESS_FAILED_PROCESSES_H_
