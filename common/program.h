// What every program of this project does at its start and end.
#ifndef COMMON_PROGRAM_H_
#define COMMON_PROGRAM_H_

#include <string>

#include "absl/status/status.h"

namespace ps {

// Exit codes, as in sysexits.h, so that a scheduler knows what to retry.
constexpr int kExitDone = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 64;        // A bad command line: never retry.
constexpr int kExitUnreachable = 75;  // Lost the others: retry.
constexpr int kExitConfig = 78;       // A bad job or missing data: never retry.

// Logs to stderr, one line each; SIGTERM ends the process with 143 also where
// it is a container's first process, which ignores signals without a handler; a
// closed pipe is an error and not a signal. Call it first in main.
void InitProgram(const char* argv0);

// "host:pid" of this process, for other processes' messages.
std::string ProcessName();

// The code that fits how a program ended.
int ExitCodeFor(const absl::Status& status);

}  // namespace ps

#endif  // COMMON_PROGRAM_H_
