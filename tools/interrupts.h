// Turns SIGINT, SIGTERM and SIGHUP into events that a poll loop can wait for.
#ifndef TOOLS_INTERRUPTS_H_
#define TOOLS_INTERRUPTS_H_

#include <signal.h>

#include <array>
#include <memory>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace ps {

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

}  // namespace ps

#endif  // TOOLS_INTERRUPTS_H_
