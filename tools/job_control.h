// What a terminal does to a job in its foreground, for child processes: they
// have process groups of their own, which it does not reach.
#ifndef TOOLS_JOB_CONTROL_H_
#define TOOLS_JOB_CONTROL_H_

#include <sys/types.h>

namespace ps {

// From now on the child stops (SIGSTOP) whenever this process is stopped by
// SIGTSTP, which Ctrl-Z sends, SIGTTIN or SIGTTOU, and goes on when this
// process goes on. Signals that are ignored stay so. Thread-safe. Has no effect
// on more than 4,096 children.
void StopWithThisProcess(pid_t child);

// To be called before the child is reaped: its number may then be another's.
void ForgetChild(pid_t child);

}  // namespace ps

#endif  // TOOLS_JOB_CONTROL_H_
