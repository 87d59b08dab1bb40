#include "transport/push_window.h"

#include <algorithm>
#include <utility>

namespace ps {

void PushWindow::Add(int64_t number, int64_t bytes, int urgency) {
  Push& push = pushes_[number];
  push.bytes = bytes;
  push.urgency = urgency;
  queued_[{-urgency, number}] = &push;
  longest_ = std::max(longest_, bytes);
}

void PushWindow::Start(Push* push) {
  push->under_way = true;
  bytes_under_way_ += push->bytes;
}

std::optional<int64_t> PushWindow::Next() {
  if (queued_.empty()) return std::nullopt;
  const auto lowest = pushes_.begin();
  if (!lowest->second.under_way) {
    Start(&lowest->second);
    queued_.erase({-lowest->second.urgency, lowest->first});
    return lowest->first;
  }
  const auto first = queued_.begin();
  // Credit is reserved for the lowest push, which may become another one with
  // any answer.
  if (bytes_under_way_ + first->second->bytes + longest_ > credit_bytes_) {
    return std::nullopt;
  }
  const int64_t number = first->first.second;
  Start(first->second);
  queued_.erase(first);
  return number;
}

void PushWindow::Answered(int64_t number) {
  const auto it = pushes_.find(number);
  if (it == pushes_.end()) return;
  if (it->second.under_way) {
    bytes_under_way_ -= it->second.bytes;
  } else {
    queued_.erase({-it->second.urgency, number});
  }
  pushes_.erase(it);
  if (pushes_.empty()) longest_ = 0;
}

}  // namespace ps
