// Limits the rate at which hosts begin handshakes.
#ifndef TRANSPORT_CONNECTIONS_HANDSHAKE_PACE_H_
#define TRANSPORT_CONNECTIONS_HANDSHAKE_PACE_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace ps {

// A token bucket for each host, kept as the time at which it is full again (the
// generic cell rate algorithm of ITU-T I.371). Not thread-safe.
class HandshakePace {
 public:
  // A host may begin `burst` (at least 1) at once, and as many in each `period`
  // after that.
  HandshakePace(int burst, absl::Duration period);

  // Returns `now` and counts a handshake of the host, or returns when it may
  // ask again. Among many hosts, the newest count as one.
  absl::Time Next(absl::string_view host, absl::Time now);

  // The number of buckets, for tests.
  size_t num_hosts() const { return full_at_.size(); }

 private:
  const absl::Duration period_;
  const absl::Duration interval_;
  absl::flat_hash_map<std::string, absl::Time> full_at_;
};

}  // namespace ps

#endif  // TRANSPORT_CONNECTIONS_HANDSHAKE_PACE_H_
