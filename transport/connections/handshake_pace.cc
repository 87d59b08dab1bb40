#include "transport/connections/handshake_pace.h"

#include <algorithm>

namespace ps {
namespace {

// This bounds the memory: a host is removed when its bucket is full.
constexpr size_t kMaxHosts = 4096;

}  // namespace

HandshakePace::HandshakePace(int burst, absl::Duration period)
    : period_(period), interval_(period / burst) {}

absl::Time HandshakePace::Next(absl::string_view host, absl::Time now) {
  if (full_at_.size() >= kMaxHosts && !full_at_.contains(host)) {
    for (auto it = full_at_.begin(); it != full_at_.end();) {
      const auto here = it++;
      if (here->second <= now) full_at_.erase(here);
    }
    if (full_at_.size() >= kMaxHosts) host = "";
  }
  absl::Time& full_at = full_at_[host];
  const absl::Time full_then = std::max(full_at, now) + interval_;
  if (full_then - now > period_) return full_then - period_;
  full_at = full_then;
  return now;
}

}  // namespace ps
