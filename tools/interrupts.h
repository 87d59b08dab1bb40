// Turns SIGINT and SIGTERM into something that a poll loop can wait for.
#ifndef TOOLS_INTERRUPTS_H_
#define TOOLS_INTERRUPTS_H_

#include <signal.h>

#include <memory>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace ps {

// While it exists, the two signals end nothing but are counted here. Signal
// handlers belong to the process, so only one may exist at a time.
class Interrupts {
 public:
  // Errors: kFailedPrecondition while another exists; kResourceExhausted if
  // the system has no more descriptors.
  static absl::StatusOr<std::unique_ptr<Interrupts>> Create();

  // The signals do again what they did before.
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Readable while there is a signal that Take() has not taken.
  int fd() const { return read_end_.get(); }

  // The signals that came since the last call.
  int Take();

 private:
  Interrupts(UniqueFd read_end, UniqueFd write_end);

  const UniqueFd read_end_;
  const UniqueFd write_end_;
  struct sigaction old_interrupt_;
  struct sigaction old_terminate_;
};

}  // namespace ps

#endif  // TOOLS_INTERRUPTS_H_
