#include "tools/job_control.h"

#include <signal.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace ps {
namespace {

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
