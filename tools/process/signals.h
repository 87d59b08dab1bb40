// What this process does with signals that are also meant for its children,
// which have process groups of their own and get none of a terminal.
#ifndef TOOLS_PROCESS_SIGNALS_H_
#define TOOLS_PROCESS_SIGNALS_H_

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <memory>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace ps {

// Turns SIGINT, SIGTERM and SIGHUP into events that a poll loop can wait for.
// While it exists, these signals do not end the process but are counted here. A
// SIGHUP that is ignored, as under nohup, stays so. Signal handlers belong to
// the whole process, so only one object may exist at a time.
class Interrupts {
 public:
  // Errors: kFailedPrecondition while another one exists; kResourceExhausted if
  // the system has no more descriptors.
  static absl::StatusOr<std::unique_ptr<Interrupts>> Create();

  // Restores the previous handling of the signals.
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Readable while there is a signal that Take() has not returned.
  int fd() const { return read_end_.get(); }

  // The number of signals since the last call.
  int Take();

 private:
  Interrupts(UniqueFd read_end, UniqueFd write_end);

  const UniqueFd read_end_;
  const UniqueFd write_end_;
  std::array<struct sigaction, 3> old_actions_;
};

// From now on the child stops (SIGSTOP) whenever this process is stopped by
// SIGTSTP, which Ctrl-Z sends, SIGTTIN or SIGTTOU, and goes on when this
// process goes on. Signals that are ignored stay so. Thread-safe. Has no effect
// on more than 4,096 children.
void StopWithThisProcess(pid_t child);

// To be called before the child is reaped: its number may then be another's.
void ForgetChild(pid_t child);

}  // namespace ps

#endif  // TOOLS_PROCESS_SIGNALS_H_
