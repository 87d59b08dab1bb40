// The servers and workers of one job on several hosts, each as a child process
// of ssh.
#ifndef TOOLS_LAUNCH_REMOTE_CLUSTER_H_
#define TOOLS_LAUNCH_REMOTE_CLUSTER_H_

#include "absl/status/status.h"
#include "tools/launch/remote_process.h"
#include "tools/process/signals.h"

namespace ps {

// Starts all processes, whose hosts have what they need (SendHostFiles). Relays
// their log lines with a prefix to stdout and into run_directory/logs, copies
// metrics.jsonl while it grows, and shows progress. A process that asks for it
// (AsksForRestart) is started again if the job keeps snapshots; if that leads
// to no further iteration, the job ends, and so it does if it hangs
// (LaunchedJob::hang_patience). Returns when no process is left that
// can be reached.
//
// With Ctrl-C, SIGTERM or SIGHUP, all are asked to end, and save a snapshot
// first; the next one ends them at once.
//
// With `goes_on`, logs are continued.
//
// Errors, after all others have been stopped: kAborted naming the process that
// failed first (tools/process/failed_processes.h), or kFailedPrecondition if
// the job's config or its data is wrong; kUnavailable if a process was given
// up; kDeadlineExceeded naming those that others wait for; kCancelled after an
// interrupt. The message also names the hosts that could not be reached at the
// end.
absl::Status RunRemoteCluster(const LaunchedJob& job, bool goes_on,
                              Interrupts* interrupts);

}  // namespace ps

#endif  // TOOLS_LAUNCH_REMOTE_CLUSTER_H_
