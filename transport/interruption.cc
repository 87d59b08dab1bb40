#include "transport/interruption.h"

#include <utility>

namespace ps {

void Interruption::Interrupt(const absl::Status& why) {
  MutexLock lock(&mu_);
  if (!why_.ok()) return;
  why_ = why;
  if (called_ != nullptr) called_();
}

absl::Status Interruption::why() const {
  MutexLock lock(&mu_);
  return why_;
}

void Interruption::Watch(std::function<void()> called) {
  MutexLock lock(&mu_);
  called_ = std::move(called);
}

}  // namespace ps
