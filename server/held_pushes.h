// Keeps the calls of pushes that wait for their update.
#ifndef SERVER_HELD_PUSHES_H_
#define SERVER_HELD_PUSHES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "common/mutex.h"
#include "glog/logging.h"
#include "server/held_call.h"

namespace ps {

// The deferred pushes. A worker repeats a push whose call broke or met its
// deadline, while the slice still keeps the first one's payload. The repeat
// must not need credit for a second payload: it only receives the answer. The
// push of another process of the worker is no repeat. Thread-safe.
class HeldPushes {
 public:
  // The rank, incarnation, iteration, bucket and slice of a push.
  using Id = std::tuple<int, uint64_t, int64_t, int, int>;

  // Keeps `call` for the push's answer. Returns false if the push is held
  // already; the earlier call then ends with kCancelled.
  bool Hold(const Id& id, std::shared_ptr<HeldCall> call) {
    {
      MutexLock lock(&mu_);
      const auto [it, is_new] = calls_.emplace(id, call);
      if (is_new) return true;
      call.swap(it->second);
    }
    call->Respond(
        absl::CancelledError("superseded by a repeat of the same push"));
    return false;
  }

  bool empty() const {
    MutexLock lock(&mu_);
    return calls_.empty();
  }

  // Ends holding the push; returns the call to answer. Must be called once for
  // each time that Hold returns true.
  std::shared_ptr<HeldCall> Release(const Id& id) {
    MutexLock lock(&mu_);
    auto released = calls_.extract(id);
    CHECK(!released.empty()) << "a push is released that is not held";
    return std::move(released.mapped());
  }

 private:
  mutable Mutex mu_;
  std::map<Id, std::shared_ptr<HeldCall>> calls_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // SERVER_HELD_PUSHES_H_
