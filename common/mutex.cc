#include "common/mutex.h"

#include <algorithm>
#include <chrono>

namespace ps {

void Mutex::Lock() { mu_.lock(); }

void Mutex::Unlock() { mu_.unlock(); }

void CondVar::Wait(Mutex* mu) {
  std::unique_lock<std::mutex> lock(mu->mu_, std::adopt_lock);
  cv_.wait(lock);
  lock.release();
}

void CondVar::WaitFor(Mutex* mu, absl::Duration timeout) {
  // The standard library would add a longer time to its clock and overflow.
  const absl::Duration bounded = std::min(timeout, absl::Hours(1));
  std::unique_lock<std::mutex> lock(mu->mu_, std::adopt_lock);
  cv_.wait_for(lock, absl::ToChronoNanoseconds(bounded));
  lock.release();
}

void CondVar::SignalAll() { cv_.notify_all(); }

}  // namespace ps
