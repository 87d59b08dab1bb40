// Runs the servers and workers of one job from their start to their end,
// wherever a launcher has them run.
#ifndef TOOLS_PROCESS_SUPERVISOR_H_
#define TOOLS_PROCESS_SUPERVISOR_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tools/process/process_log.h"
#include "tools/process/signals.h"
#include "tools/process/subprocesses.h"

namespace ps {

// One process of a job, which may be started several times.
struct JobProcess {
  // A helper has no log, and the job depends on none: it is started again
  // whenever it has ended.
  enum class Kind { kServer, kWorker, kHelper };
  enum class State {
    kWaits,  // To be started at start_at, if the launcher lets it.
    kRuns,
    kEnded,  // It is not started again.
  };

  Kind kind = Kind::kHelper;
  int number = 0;    // Index or rank.
  std::string name;  // "worker-3"
  std::string host;  // Empty: this machine.
  absl::Time start_at = absl::InfinitePast();

  // The supervisor sets the rest.
  State state = State::kWaits;
  pid_t pid = 0;  // Of the latest start.
  int num_starts = 0;
  int64_t started_in = 0;  // The iteration of the latest start.
  ProcessExit exit;        // The latest.
  // Of its output since the latest start.
  ProcessLog log;
  std::string last_line;

  std::string title() const {  // "worker-3@gpu1"
    return host.empty() ? name : name + "@" + host;
  }
};

// What a launcher is told about its job.
struct JobState {
  int64_t iteration = 0;    // The latest.
  int workers_running = 0;  // Number.
  bool has_failed = false;  // Another process has failed before.
};

// What is to be done about a process that has ended with an error.
struct Decision {
  enum class Action {
    kFail,        // The job fails; `text` says how the process has ended.
    kGiveUp,      // It fails with kUnavailable and `text`.
    kGoOn,        // It goes on without the process.
    kStartAgain,  // The process is started again after `delay`.
  };
  Action action = Action::kFail;
  std::string text;  // kGoOn, kStartAgain: is printed unless it is empty.
  absl::Duration delay = absl::ZeroDuration();
  // kStartAgain: so are servers that have ended because the job is done.
  bool with_servers = false;
};

// Where the processes of a job run, and what their ends mean there. Methods are
// called by Supervise().
class Launcher {
 public:
  // For Subprocesses::Start().
  struct Command {
    std::vector<std::string> arguments;
    int network_namespace = kOwnNetwork;
  };

  virtual ~Launcher() = default;

  // The command that starts a process now, or nothing as long as it and those
  // after it have to wait for others. Errors end the job.
  virtual absl::StatusOr<std::optional<Command>> CommandFor(
      const JobProcess& process) = 0;

  // Decides about a server or worker that has ended with an error.
  virtual Decision OnFailure(const JobProcess& process,
                             const JobState& job) = 0;

  // Is told the latest iteration whenever metrics.jsonl has grown. If it
  // returns true, the run ends successfully.
  virtual bool HasEnough(int64_t iteration) = 0;

  // A line of a helper's standard output.
  virtual void TakeHelperLine(absl::string_view /*line*/) {}
};

struct SupervisorOptions {
  // Has metrics.jsonl; logs go into its folder logs.
  std::string run_directory;
  bool goes_on = false;  // Logs are continued.
  // Children are clients of connections to other hosts, where kLifelineScript
  // (tools/launch/remote_command.h) holds the processes: they go on when a
  // terminal stops this process, and lines of their input stand for SIGTERM.
  bool over_ssh = false;
  // The job continues with at least this many workers.
  int min_workers = 0;
  bool keeps_snapshots = false;
  // How long saving one takes at most (checkpoint.grace_seconds).
  absl::Duration saving;
  // How long servers may take to write their last snapshot, once no worker is
  // left. Those that find that the job was done before do not end.
  absl::Duration last_writes = absl::Minutes(1);
  // After this time without an iteration, while all processes run, the job ends
  // or, if it keeps snapshots and this is asked for, all are started again.
  // Zero: never. Only over ssh.
  absl::Duration hang_patience = absl::ZeroDuration();
  bool restart_when_it_hangs = false;
  // Also shows the lines of the logs.
  bool show_log = true;
  bool show_progress = true;
  Interrupts* interrupts = nullptr;  // Not owned.
};

// Starts all processes, in this order, relays their lines with a prefix to
// stdout and into their logs, and shows progress on stdout. Returns when all
// have ended, or when no worker is left and servers do not end. After Ctrl-C,
// SIGTERM or SIGHUP, processes that keep snapshots save one before they end;
// the next signal ends them sooner. *processes then says how each has ended.
// Errors, after everything else has been stopped: those of FailedProcesses for
// the process that failed first; kUnavailable after kGiveUp; kDeadlineExceeded
// naming those that others wait for if the job hangs; kCancelled after a
// signal; those of the launcher, and of the system if a process cannot be
// started.
absl::Status Supervise(const SupervisorOptions& options, Launcher* launcher,
                       std::vector<JobProcess>* processes);

}  // namespace ps

#endif  // TOOLS_PROCESS_SUPERVISOR_H_
