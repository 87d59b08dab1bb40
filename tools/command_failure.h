// How a command of `gradsieve` reports why it failed.
#ifndef TOOLS_COMMAND_FAILURE_H_
#define TOOLS_COMMAND_FAILURE_H_

#include <string>

#include "absl/status/status.h"

namespace ps {

// Flushes stdout, then prints "gradsieve COMMAND: message" to stderr. Returns
// `exit_code`.
int FailCommand(const std::string& command, const absl::Status& status,
                int exit_code);

}  // namespace ps

#endif  // TOOLS_COMMAND_FAILURE_H_
