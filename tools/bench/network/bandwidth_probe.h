// Measures how fast a network between two hosts really is.
#ifndef TOOLS_BENCH_NETWORK_BANDWIDTH_PROBE_H_
#define TOOLS_BENCH_NETWORK_BANDWIDTH_PROBE_H_

#include "absl/status/statusor.h"
#include "tools/bench/network/slow_network.h"

namespace ps {

// Bits per second of one TCP connection's bytes, without headers, in a transfer
// of about half a second, measured at the receiver after the filters' bursts
// are used up. Errors: those of the system; kDeadlineExceeded if nothing
// arrives for ten seconds.
absl::StatusOr<double> MeasureBandwidth(const SlowNetwork& network,
                                        int from_host, int to_host);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_BANDWIDTH_PROBE_H_
