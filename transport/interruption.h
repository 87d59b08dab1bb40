// Ends one thread's waits for servers from another thread.
#ifndef TRANSPORT_INTERRUPTION_H_
#define TRANSPORT_INTERRUPTION_H_

#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/mutex.h"

namespace ps {

// Thread-safe.
class Interruption {
 public:
  // From now on, waits end with this error. Only the first call counts.
  void Interrupt(const absl::Status& why);

  // OK before Interrupt.
  absl::Status why() const;

  // Has `called` called by Interrupt, with a lock held: it must not call back.
  // Null: nothing is called any more.
  void Watch(std::function<void()> called);

 private:
  mutable Mutex mu_;
  absl::Status why_ ABSL_GUARDED_BY(mu_);
  std::function<void()> called_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // TRANSPORT_INTERRUPTION_H_
