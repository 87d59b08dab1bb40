// What every program of this project does at its start and end.
#ifndef COMMON_PROGRAM_H_
#define COMMON_PROGRAM_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/exit_codes.h"

namespace ps {

// Logs to stderr, one line each; SIGTERM ends the process with 143 also where
// it is a container's first process, which ignores signals without a handler; a
// closed pipe is an error and not a signal. Up to 256 MiB of memory that is
// freed stays with the process, for the messages to come. Call it first in main.
void InitProgram(const char* argv0);

// A whole number from the environment, or `otherwise`: a cluster manager tells
// a process in this way which one it is.
int64_t NumberFromEnvironment(const char* name, int64_t otherwise);

// "host:pid" of this process, for other processes' messages.
std::string ProcessName();

// The code that fits how a program ended.
int ExitCodeFor(const absl::Status& status);

}  // namespace ps

#endif  // COMMON_PROGRAM_H_
