// Starts and ends every program of this project.
#ifndef COMMON_PROGRAM_H_
#define COMMON_PROGRAM_H_

#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "common/exit_codes.h"

namespace ps {

// Sets up the process; call it first in main. Closed standard streams are
// opened as /dev/null. Log messages go to stderr, one line each, which is short
// if stderr is a terminal: "W 12:03:04 text" without date, thread and place in
// the code. Protocol Buffers write none. SIGTERM ends the process with exit
// code 143, even if it is a container's first process, which ignores signals
// that have no handler. Writing to a closed pipe, or more to a file than the
// limit of the process (ulimit -f), is an error and does not raise a signal.
// The process keeps up to 256 MiB of freed memory for later messages, and may
// open as many files and connections as its hard limit allows.
void InitProgram(const char* argv0);

// From now on SIGTERM, SIGINT and SIGHUP set AskedToEnd(), and the process is
// expected to end by itself. A second one, or a wait of grace_seconds, ends it
// at once with exit code 143, 130 or 129. A SIGHUP that is ignored, as under
// nohup, stays so. The caller may set AskedToEnd() as well.
void EndWhenAsked(int grace_seconds);
std::atomic<bool>* AskedToEnd();

// Ends the process with this code; the last call in main. Flushes standard
// output; if that fails, now or before, stderr says so, and kExitDone becomes
// kExitFailed. Does not run exit handlers: they free what libraries share,
// while threads of gRPC, which nobody can stop, still use it (OpenSSL's tables
// in a handshake), and a process that had done its work would die of SIGSEGV.
// With AddressSanitizer, leaks are looked for first.
[[noreturn]] void EndProgram(int exit_code);

// Returns a whole number from the environment, or `otherwise` if there is none
// that fits an int. A cluster manager uses such a variable to tell a process
// its index.
int NumberFromEnvironment(const char* name, int otherwise);

// Returns freed memory to the system.
void GiveBackMemory();

// "host:pid" of this process, or of another one on this machine, for messages
// of other processes.
std::string ProcessName();
std::string ProcessName(int pid);

// Returns the exit code for a program that ended with `status`.
int ExitCodeFor(const absl::Status& status);

}  // namespace ps

#endif  // COMMON_PROGRAM_H_
