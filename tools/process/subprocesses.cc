#include "tools/process/subprocesses.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "tools/process/signals.h"

namespace ps {
namespace {

constexpr size_t kMaxLineBytes = size_t{64} << 10;
constexpr size_t kPieceBytes = size_t{16} << 10;
// A Linux pipe holds 64 KiB; each read may return less than requested.
constexpr int kPiecesOfFullPipe = 64;
// How long Linux may take to end a process that got SIGKILL: it may be deep in
// a disk's driver.
constexpr absl::Duration kKillTimeout = absl::Seconds(10);

// Reads a pipe line by line.
class LineReader {
 public:
  using OnLine = std::function<void(absl::string_view line)>;

  explicit LineReader(UniqueFd fd) : fd_(std::move(fd)) {}

  // -1 when the other end is closed.
  int fd() const { return fd_.get(); }

  // Reads at most one piece of the available output, so that a child that never
  // stops writing does not block the others. Returns false when there is
  // nothing more to read now.
  bool ReadSome(const OnLine& on_line) {
    if (fd_.get() < 0) return false;
    char piece[kPieceBytes];
    const ssize_t count = read(fd_.get(), piece, sizeof(piece));
    if (count < 0 && errno == EINTR) return true;
    if (count < 0 && errno == EAGAIN) return false;
    if (count <= 0) {
      fd_.Close();
      return false;
    }
    absl::string_view bytes(piece, static_cast<size_t>(count));
    for (size_t end; (end = bytes.find('\n')) != bytes.npos;) {
      partial_.append(bytes.data(), end);
      Deliver(on_line);
      bytes.remove_prefix(end + 1);
    }
    partial_.append(bytes.data(), bytes.size());
    if (partial_.size() > kMaxLineBytes) Deliver(on_line);
    return true;
  }

  // Delivers an incomplete last line.
  void Flush(const OnLine& on_line) {
    if (!partial_.empty()) Deliver(on_line);
  }

 private:
  void Deliver(const OnLine& on_line) {
    // Cleared first, because the callback may use this object again.
    std::string line;
    line.swap(partial_);
    on_line(line);
  }

  UniqueFd fd_;
  std::string partial_;
};

int PollMilliseconds(absl::Time deadline) {
  if (deadline == absl::InfiniteFuture()) return -1;
  const double milliseconds =
      absl::ToDoubleMilliseconds(deadline - SteadyClock()->Now());
  // Rounded up, so that the deadline has passed when poll() returns.
  return static_cast<int>(
      std::min(std::max(milliseconds + 1, 0.0),
               static_cast<double>(std::numeric_limits<int>::max())));
}

}  // namespace

std::string DescribeExit(const ProcessExit& exit) {
  std::string text = exit.signal == 0
                         ? absl::StrCat("exited with code ", exit.code)
                         : absl::StrCat("was killed by signal ", exit.signal,
                                        " (", strsignal(exit.signal), ")");
  // A shell adds 128.
  switch (exit.signal == 0 ? exit.code - 128 : exit.signal) {
    case SIGKILL: {
      text +=
          ", perhaps because the machine had no memory left (dmesg says so)";
      // Children have the limits of this process.
      rlimit processor_time = {};
      if (getrlimit(RLIMIT_CPU, &processor_time) == 0 &&
          processor_time.rlim_max != RLIM_INFINITY) {
        absl::StrAppend(&text, ", or because it has used its ",
                        processor_time.rlim_max,
                        " s of processor time (ulimit -t)");
      }
      break;
    }
    case SIGXCPU:
      text += ", the limit of processor time (ulimit -t)";
      break;
    case SIGXFSZ:
      text += ", the limit of a file's size (ulimit -f)";
      break;
  }
  return text;
}

class Subprocesses::Child {
 public:
  Child(int number, SpawnedProcess process, UniqueFd input,
        bool stops_with_this_process)
      : number_(number),
        pid_(process.pid),
        pidfd_(std::move(process.pidfd)),
        input_(std::move(input)),
        out_(std::move(process.stdout_reader)),
        err_(std::move(process.stderr_reader)) {
    if (stops_with_this_process) StopWithThisProcess(pid_);
  }

  ~Child() {
    if (!running_) return;
    kill(pid_, SIGKILL);
    ForgetChild(pid_);
    waitpid(pid_, nullptr, 0);
  }

  bool is_running() const { return running_; }
  pid_t pid() const { return pid_; }

  void Signal(int signal) const {
    // Not reaped yet, so the ID cannot belong to another process.
    if (running_) kill(pid_, signal);
  }

  void Send(absl::string_view line) const {
    const std::string bytes = absl::StrCat(line, "\n");
    // An error means that the child has just ended, which Deliver() reports.
    const ssize_t ignored = write(input_.get(), bytes.data(), bytes.size());
    static_cast<void>(ignored);
  }

  void CloseInput() { input_.Close(); }

  void AddTo(std::vector<pollfd>* polled) const {
    if (!running_) return;
    for (const int fd : {pidfd_.get(), out_.fd(), err_.fd()}) {
      polled->push_back({fd, POLLIN, 0});
    }
  }

  // Delivers the available output without waiting. Returns true if a callback
  // was made.
  bool Deliver(const SubprocessCallbacks& callbacks) {
    if (!running_) return false;
    bool delivered = false;
    const auto on_line = [&](OutputStream stream) {
      return [&, stream](absl::string_view line) {
        delivered = true;
        if (callbacks.on_line) callbacks.on_line(number_, stream, line);
      };
    };
    // Checked before reading, so that all output of a dead child is read below.
    // With WNOWAIT the child is not reaped before its output is delivered.
    siginfo_t info = {};
    const bool ended =
        waitid(P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pid_;
    // A dead child left no more output than the pipes hold. Without a limit,
    // this would not end if a process that the child started goes on writing.
    const int pieces = ended ? kPiecesOfFullPipe : 1;
    for (int piece = 0; piece < pieces; ++piece) {
      const bool more_out = out_.ReadSome(on_line(OutputStream::kStdout));
      const bool more_err = err_.ReadSome(on_line(OutputStream::kStderr));
      if (!more_out && !more_err) break;
    }
    if (!ended) return delivered;
    out_.Flush(on_line(OutputStream::kStdout));
    err_.Flush(on_line(OutputStream::kStderr));
    int status = 0;
    ForgetChild(pid_);
    waitpid(pid_, &status, 0);
    running_ = false;
    input_.Close();
    ProcessExit exit;
    if (WIFSIGNALED(status)) {
      exit.signal = WTERMSIG(status);
    } else {
      exit.code = WEXITSTATUS(status);
    }
    if (callbacks.on_exit) callbacks.on_exit(number_, exit);
    return true;
  }

 private:
  const int number_;
  const pid_t pid_;
  const UniqueFd pidfd_;
  UniqueFd input_;  // Our end of it, with kLineInput.
  LineReader out_;
  LineReader err_;
  bool running_ = true;
};

Subprocesses::Subprocesses(SubprocessCallbacks callbacks,
                           bool stop_with_this_process)
    : callbacks_(std::move(callbacks)),
      stop_with_this_process_(stop_with_this_process) {}

Subprocesses::~Subprocesses() = default;

absl::StatusOr<int> Subprocesses::Start(
    const std::vector<std::string>& arguments, int network_namespace,
    int input) {
  Pipe pipe;
  if (input == kLineInput) {
    PS_ASSIGN_OR_RETURN(pipe, MakePipe());
    input = pipe.reader.get();
  }
  PS_ASSIGN_OR_RETURN(SpawnedProcess process,
                      Spawn(arguments, network_namespace, input));
  const int number = static_cast<int>(children_.size());
  children_.push_back(std::make_unique<Child>(number, std::move(process),
                                              std::move(pipe.writer),
                                              stop_with_this_process_));
  return number;
}

int Subprocesses::num_running() const {
  return static_cast<int>(
      std::count_if(children_.begin(), children_.end(),
                    [](const auto& child) { return child->is_running(); }));
}

bool Subprocesses::is_running(int child) const {
  return children_.at(child)->is_running();
}

pid_t Subprocesses::pid(int child) const { return children_.at(child)->pid(); }

void Subprocesses::Signal(int child, int signal) {
  children_.at(child)->Signal(signal);
}

void Subprocesses::Send(int child, absl::string_view line) {
  children_.at(child)->Send(line);
}

void Subprocesses::CloseInput(int child) { children_.at(child)->CloseInput(); }

void Subprocesses::SignalAll(int signal) {
  for (const auto& child : children_) child->Signal(signal);
}

absl::Status Subprocesses::Poll(absl::Time deadline, int wake_fd) {
  for (;;) {
    if (num_running() == 0) return absl::OkStatus();
    std::vector<pollfd> polled = {{wake_fd, POLLIN, 0}};
    for (const auto& child : children_) child->AddTo(&polled);
    const int ready =
        poll(polled.data(), polled.size(), PollMilliseconds(deadline));
    if (ready < 0 && errno != EINTR) {
      return absl::ErrnoToStatus(errno, "cannot wait for child processes");
    }
    bool delivered = false;
    for (const auto& child : children_) {
      delivered = child->Deliver(callbacks_) || delivered;
    }
    const bool woken = ready > 0 && polled[0].revents != 0;
    if (delivered || woken || SteadyClock()->Now() >= deadline) {
      return absl::OkStatus();
    }
  }
}

absl::StatusOr<bool> Subprocesses::PollUntilGone(absl::Time deadline,
                                                 int wake_fd) {
  while (num_running() > 0) {
    PS_RETURN_IF_ERROR(Poll(deadline, wake_fd));
    pollfd wake = {wake_fd, POLLIN, 0};
    if (SteadyClock()->Now() >= deadline || poll(&wake, 1, /*timeout=*/0) > 0) {
      break;
    }
  }
  return num_running() == 0;
}

absl::Status Subprocesses::Terminate(absl::Duration grace, int wake_fd) {
  SignalAll(SIGTERM);
  PS_ASSIGN_OR_RETURN(bool gone,
                      PollUntilGone(SteadyClock()->Now() + grace, wake_fd));
  if (gone) return absl::OkStatus();
  SignalAll(SIGKILL);
  PS_ASSIGN_OR_RETURN(
      gone, PollUntilGone(SteadyClock()->Now() + kKillTimeout, /*wake_fd=*/-1));
  if (gone) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat(num_running(), " child processes did not end within ",
                   absl::FormatDuration(kKillTimeout), " of SIGKILL"));
}

}  // namespace ps
