#include "transport/push_window.h"

#include <algorithm>
#include <utility>

namespace ps {
namespace {

// The limit is never less than these.
constexpr int64_t kLeastLimit = 2 << 20;
constexpr int kLeastPushes = 4;
// Shorter intervals would count bursts of answers.
constexpr absl::Duration kLeastInterval = absl::Milliseconds(20);
// A rate that was seen is relied on for one to two times as long.
constexpr absl::Duration kPeriod = absl::Seconds(10);

}  // namespace

void PushWindow::SetCredit(int64_t credit_bytes, bool needs_whole_iterations) {
  credit_bytes_ = credit_bytes;
  needs_whole_iterations_ = needs_whole_iterations;
}

void PushWindow::Add(int64_t number, int64_t bytes, int urgency) {
  Push& push = pushes_[number];
  push.bytes = bytes;
  push.urgency = urgency;
  queued_[{-urgency, number}] = &push;
  longest_ = std::max(longest_, bytes);
}

void PushWindow::Start(Push* push, absl::Time now) {
  push->under_way = true;
  push->start = now;
  bytes_under_way_ += push->bytes;
}

int64_t PushWindow::Limit() const {
  if (needs_whole_iterations_) return credit_bytes_;
  return std::min(credit_bytes_,
                  std::max({kLeastLimit, kLeastPushes * longest_,
                            most_answered_, most_answered_before_}));
}

void PushWindow::Note(int64_t bytes, absl::Duration latency, absl::Time now) {
  // An old minimum may be too low, and a new one would be too high: what waits
  // in this window delays all that follows.
  least_latency_ = std::min(least_latency_, latency);
  if (now - interval_start_ > std::max(2 * least_latency_, kLeastInterval)) {
    interval_start_ = now;
    answered_bytes_ = 0;
  }
  answered_bytes_ += bytes;
  if (now >= period_end_) {
    most_answered_before_ = std::exchange(most_answered_, 0);
    period_end_ = now + kPeriod;
  }
  most_answered_ = std::max(most_answered_, answered_bytes_);
}

std::optional<int64_t> PushWindow::Next(absl::Time now) {
  if (queued_.empty()) return std::nullopt;
  const auto lowest = pushes_.begin();
  if (!lowest->second.under_way) {
    Start(&lowest->second, now);
    queued_.erase({-lowest->second.urgency, lowest->first});
    return lowest->first;
  }
  const auto first = queued_.begin();
  // Credit is reserved for the lowest push, which may become another one with
  // any answer.
  if (bytes_under_way_ + first->second->bytes + longest_ > Limit()) {
    return std::nullopt;
  }
  const int64_t number = first->first.second;
  Start(first->second, now);
  queued_.erase(first);
  return number;
}

void PushWindow::Answered(int64_t number, absl::Time now) {
  const auto it = pushes_.find(number);
  if (it == pushes_.end()) return;
  if (it->second.under_way) {
    bytes_under_way_ -= it->second.bytes;
    Note(it->second.bytes, now - it->second.start, now);
  } else {
    queued_.erase({-it->second.urgency, number});
  }
  pushes_.erase(it);
  if (pushes_.empty()) longest_ = 0;
}

}  // namespace ps
