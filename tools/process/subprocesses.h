// The processes of a cluster on this machine, which are started, read and ended
// together.
#ifndef TOOLS_PROCESS_SUBPROCESSES_H_
#define TOOLS_PROCESS_SUBPROCESSES_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tools/process/spawn.h"

namespace ps {

// Stands for an input into which Send() writes.
constexpr int kLineInput = -2;

// How a process ended.
struct ProcessExit {
  int code = 0;    // Exit code, if signal is 0.
  int signal = 0;  // The signal that killed it; 0: none.

  bool ok() const { return code == 0 && signal == 0; }
};

// "exited with code 3", "was killed by signal 15 (Terminated)"; with the limit
// of the system that may be the reason.
std::string DescribeExit(const ProcessExit& exit);

enum class OutputStream { kStdout, kStderr };

// Called from within Poll() and Terminate(). They may call Signal(), Send() and
// CloseInput(), but no other method that changes the object.
struct SubprocessCallbacks {
  // Gets a line without its end. The last output of a process counts as a line
  // even without a line end, and a line longer than 64 KiB is delivered in
  // pieces.
  std::function<void(int child, OutputStream stream, absl::string_view line)>
      on_line;
  // After the last line of the child.
  std::function<void(int child, const ProcessExit& exit)> on_exit;
};

// Not thread-safe. The thread that calls Start() must live as long as the
// processes should: they are killed when it ends (spawn.h). When a terminal
// stops this process, they stop, too, unless they must not (signals.h).
class Subprocesses {
 public:
  // stop_with_this_process: false for programs that must go on when a terminal
  // stops this one, such as the client of a connection.
  explicit Subprocesses(SubprocessCallbacks callbacks,
                        bool stop_with_this_process = true);

  // Kills and reaps the processes that still run, without callbacks.
  ~Subprocesses();
  Subprocesses(const Subprocesses&) = delete;
  Subprocesses& operator=(const Subprocesses&) = delete;

  // Starts a program and returns its number: 0, 1, 2, ... Arguments and errors:
  // those of Spawn(); `input` may also be kLineInput.
  absl::StatusOr<int> Start(const std::vector<std::string>& arguments,
                            int network_namespace = kOwnNetwork,
                            int input = kEmptyInput);

  // Number of children that have not ended, or whose end has not been reported
  // yet.
  int num_running() const;
  bool is_running(int child) const;
  pid_t pid(int child) const;

  // Waits until a callback was made, `wake_fd` (-1: none) is readable,
  // `deadline` of the SteadyClock has passed, or no child runs.
  absl::Status Poll(absl::Time deadline, int wake_fd = -1);

  // Does nothing if the child has ended.
  void Signal(int child, int signal);

  // Writes a line to a child that was started with kLineInput. The system keeps
  // 64 KiB that the child has not read; then this call waits. Does nothing if
  // the child, or its input, has ended.
  void Send(int child, absl::string_view line);
  // Ends that input.
  void CloseInput(int child);

  // Ends all children: SIGTERM, then SIGKILL to those that still run after
  // `grace`. Returns when all have ended and have been reported, or an error if
  // the system does not report their end within another ten seconds. If
  // `wake_fd` becomes readable, SIGKILL is sent at once.
  absl::Status Terminate(absl::Duration grace, int wake_fd = -1);

 private:
  class Child;

  // Poll() until all are gone; false if `deadline` or `wake_fd` came first.
  absl::StatusOr<bool> PollUntilGone(absl::Time deadline, int wake_fd);
  void SignalAll(int signal);

  const SubprocessCallbacks callbacks_;
  const bool stop_with_this_process_;
  std::vector<std::unique_ptr<Child>> children_;  // By number; never removed.
};

}  // namespace ps

#endif  // TOOLS_PROCESS_SUBPROCESSES_H_
