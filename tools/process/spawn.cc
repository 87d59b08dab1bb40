#include "tools/process/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

// The child's data, prepared before the fork: after it only calls that are safe
// in a signal handler are allowed, because other threads may have held locks.
struct ChildPlan {
  std::vector<char*> argv;  // Ends in a null pointer.
  pid_t parent_pid = 0;
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  int network_namespace = kOwnNetwork;
  int error_fd = -1;  // Closed by a successful exec; gets errors otherwise.
};

struct ChildError {
  bool in_setns = false;  // Otherwise in a later call.
  int number = 0;         // errno.
};

[[noreturn]] void FailChild(const ChildPlan& plan, bool in_setns) {
  ChildError error;
  error.in_setns = in_setns;
  error.number = errno;
  const ssize_t ignored = write(plan.error_fd, &error, sizeof(error));
  static_cast<void>(ignored);
  _exit(127);
}

[[noreturn]] void RunChild(const ChildPlan& plan) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above.
  if (getppid() != plan.parent_pid) _exit(127);
  // exec resets handlers, but blocked and ignored signals stay so.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (plan.network_namespace != kOwnNetwork &&
      setns(plan.network_namespace, CLONE_NEWNET) != 0) {
    FailChild(plan, /*in_setns=*/true);
  }
  if (dup2(plan.stdin_fd, STDIN_FILENO) >= 0 &&
      dup2(plan.stdout_fd, STDOUT_FILENO) >= 0 &&
      dup2(plan.stderr_fd, STDERR_FILENO) >= 0) {
    execv(plan.argv[0], plan.argv.data());
  }
  FailChild(plan, /*in_setns=*/false);
}

// Waits until the child runs its program, or returns the error.
absl::Status WaitForExec(int error_fd, const std::string& program) {
  ChildError error;
  ssize_t count;
  do {
    count = read(error_fd, &error, sizeof(error));
  } while (count < 0 && errno == EINTR);
  if (count == 0) return absl::OkStatus();  // Closed by exec.
  return absl::ErrnoToStatus(
      error.number,
      error.in_setns
          ? absl::StrCat("cannot enter the network namespace to run ", program)
          : absl::StrCat("cannot run ", program));
}

}  // namespace

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make a pipe");
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

absl::StatusOr<SpawnedProcess> Spawn(const std::vector<std::string>& arguments,
                                     int network_namespace, int input) {
  if (arguments.empty()) {
    return absl::InvalidArgumentError("a process needs a program to run");
  }
  PS_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  PS_ASSIGN_OR_RETURN(Pipe err, MakePipe());
  PS_ASSIGN_OR_RETURN(Pipe error, MakePipe());
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (null.get() < 0) {
    return absl::ErrnoToStatus(errno, "cannot open /dev/null");
  }
  ChildPlan plan;
  for (const std::string& argument : arguments) {
    plan.argv.push_back(const_cast<char*>(argument.c_str()));
  }
  plan.argv.push_back(nullptr);
  plan.parent_pid = getpid();
  plan.stdin_fd = input == kEmptyInput ? null.get() : input;
  plan.stdout_fd = out.writer.get();
  plan.stderr_fd = err.writer.get();
  plan.network_namespace = network_namespace;
  plan.error_fd = error.writer.get();

  SpawnedProcess process;
  process.pid = fork();
  if (process.pid < 0) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("cannot start ", arguments[0]));
  }
  if (process.pid == 0) RunChild(plan);
  error.writer.Close();
  absl::Status status = WaitForExec(error.reader.get(), arguments[0]);
  if (status.ok()) {
    // A system call of Linux 5.3, for which glibc has had a function only since
    // 2.36.
    process.pidfd = UniqueFd(
        static_cast<int>(syscall(SYS_pidfd_open, process.pid, /*flags=*/0)));
    if (process.pidfd.get() < 0) {
      status = absl::ErrnoToStatus(errno, "cannot watch a child process");
    }
  }
  if (!status.ok()) {
    kill(process.pid, SIGKILL);
    waitpid(process.pid, nullptr, 0);
    return status;
  }
  process.stdout_reader = std::move(out.reader);
  process.stderr_reader = std::move(err.reader);
  fcntl(process.stdout_reader.get(), F_SETFL, O_NONBLOCK);
  fcntl(process.stderr_reader.get(), F_SETFL, O_NONBLOCK);
  return process;
}

}  // namespace ps
