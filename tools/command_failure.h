// How a command of `gradsieve` says why it ends.
#ifndef TOOLS_COMMAND_FAILURE_H_
#define TOOLS_COMMAND_FAILURE_H_

#include <string>

#include "absl/status/status.h"

namespace ps {

// Prints "gradsieve COMMAND: message" to stderr, after what is on its way to
// stdout. Returns `exit_code`.
int FailCommand(const std::string& command, const absl::Status& status,
                int exit_code);

}  // namespace ps

#endif  // TOOLS_COMMAND_FAILURE_H_
