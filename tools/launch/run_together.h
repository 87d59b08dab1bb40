// Short commands, on all hosts at the same time.
#ifndef TOOLS_LAUNCH_RUN_TOGETHER_H_
#define TOOLS_LAUNCH_RUN_TOGETHER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/process/signals.h"
#include "tools/process/subprocesses.h"

namespace ps {

struct ShortCommand {
  std::vector<std::string> arguments;  // See Spawn().
  int input = kEmptyInput;
};

struct CommandResult {
  ProcessExit exit;
  std::string out;    // Standard output, without the last line end.
  std::string error;  // The same of standard error.
};

// Runs the commands to their ends; the results are in their order. Errors:
// kCancelled after Ctrl-C; those of Spawn().
absl::StatusOr<std::vector<CommandResult>> RunTogether(
    const std::vector<ShortCommand>& commands, Interrupts* interrupts);

// OK for exit code 0. Otherwise kAborted with the host, what its command said,
// and what to do if ssh failed: for commands of SshArguments().
absl::Status ResultOnHost(const std::string& host, const CommandResult& result);

}  // namespace ps

#endif  // TOOLS_LAUNCH_RUN_TOGETHER_H_
