#include "tools/process/signals.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"

namespace ps {
namespace {

// The handler only gets the signal's number, so the descriptor that it writes
// to must be global. -1: no Interrupts exists.
std::atomic<int> handler_fd{-1};
static_assert(std::atomic<int>::is_always_lock_free,
              "a signal handler may not wait for a lock");

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

void HandleSignal(int) {
  const int old_errno = errno;
  // A full pipe drops the signal, which does no harm: thousands are waiting.
  const ssize_t ignored = write(handler_fd.load(), "x", 1);
  static_cast<void>(ignored);
  errno = old_errno;
}

// The handler only gets the signal's number, so the children must be global. 0:
// a free place.
std::array<std::atomic<pid_t>, 4096> children;
static_assert(std::atomic<pid_t>::is_always_lock_free,
              "a signal handler may not wait for a lock");

void SignalChildren(int signal) {
  for (const std::atomic<pid_t>& child : children) {
    const pid_t pid = child.load();
    if (pid > 0) kill(pid, signal);
  }
}

// Stevens and Rago, "Advanced Programming in the UNIX Environment", 10.21: the
// default action stops the process, unless nobody could continue it.
void Stop(int signal) {
  const int old_errno = errno;
  SignalChildren(SIGSTOP);
  struct sigaction ours;
  struct sigaction stop = {};
  stop.sa_handler = SIG_DFL;
  sigaction(signal, &stop, &ours);
  raise(signal);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, signal);
  pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
  // Here the process is stopped, and later goes on.
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  sigaction(signal, &ours, nullptr);
  SignalChildren(SIGCONT);
  errno = old_errno;
}

bool HandleStops() {
  struct sigaction action = {};
  action.sa_handler = Stop;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGTSTP, SIGTTIN, SIGTTOU}) {
    struct sigaction old;
    sigaction(signal, &action, &old);
    if (old.sa_handler == SIG_IGN) sigaction(signal, &old, nullptr);
  }
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Interrupts>> Interrupts::Create() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return absl::ResourceExhaustedError("cannot make a pipe for signals");
  }
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  int none = -1;
  if (!handler_fd.compare_exchange_strong(none, write_end.get())) {
    return absl::FailedPreconditionError("signals are already being watched");
  }
  return std::unique_ptr<Interrupts>(
      new Interrupts(std::move(read_end), std::move(write_end)));
}

Interrupts::Interrupts(UniqueFd read_end, UniqueFd write_end)
    : read_end_(std::move(read_end)), write_end_(std::move(write_end)) {
  struct sigaction action = {};
  action.sa_handler = HandleSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction* const old = &old_actions_[i];
    sigaction(kSignals[i], &action, old);
    if (kSignals[i] == SIGHUP && old->sa_handler == SIG_IGN) {
      sigaction(SIGHUP, old, nullptr);
    }
  }
}

Interrupts::~Interrupts() {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &old_actions_[i], nullptr);
  }
  handler_fd.store(-1);
}

int Interrupts::Take() {
  int count = 0;
  char byte;
  while (read(read_end_.get(), &byte, 1) == 1) ++count;
  return count;
}

void StopWithThisProcess(pid_t child) {
  static const bool handles_stops = HandleStops();
  static_cast<void>(handles_stops);
  for (std::atomic<pid_t>& place : children) {
    pid_t none = 0;
    if (place.compare_exchange_strong(none, child)) return;
  }
}

void ForgetChild(pid_t child) {
  for (std::atomic<pid_t>& place : children) {
    pid_t expected = child;
    if (place.compare_exchange_strong(expected, 0)) return;
  }
}

}  // namespace ps
