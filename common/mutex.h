// A mutex and a condition variable with thread-safety annotations.
//
// This is not absl::Mutex because Debian ships Abseil compiled without
// ThreadSanitizer: a lock taken inside that library is invisible to it, and
// every guarded member would be reported. std::mutex is seen by
// ThreadSanitizer, and these thin wrappers give clang's -Wthread-safety what it
// needs. Their methods are not inline, so that a simulation can be linked in
// their place (tests/simulation).
#ifndef COMMON_MUTEX_H_
#define COMMON_MUTEX_H_

#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace ps {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION();
  void Unlock() ABSL_UNLOCK_FUNCTION();

 private:
  friend class CondVar;
  std::mutex mu_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mu) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) : mu_(mu) {
    mu_->Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mu_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mu_;
};

// A condition variable. Waits may wake spuriously: test the condition in a
// loop.
class CondVar {
 public:
  void Wait(Mutex* mu) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // Waits at most `timeout`, whatever happens to the machine's date.
  void WaitFor(Mutex* mu, absl::Duration timeout)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void SignalAll();

 private:
  std::condition_variable cv_;
};

}  // namespace ps

#endif  // COMMON_MUTEX_H_
