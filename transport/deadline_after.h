// Computes deadlines for gRPC that no change of the machine's date moves.
#ifndef TRANSPORT_DEADLINE_AFTER_H_
#define TRANSPORT_DEADLINE_AFTER_H_

#include "absl/time/time.h"
#include "grpc/support/time.h"

namespace ps {

inline gpr_timespec DeadlineAfter(absl::Duration timeout) {
  return gpr_time_add(
      gpr_now(GPR_CLOCK_MONOTONIC),
      gpr_time_from_nanos(absl::ToInt64Nanoseconds(timeout), GPR_TIMESPAN));
}

}  // namespace ps

#endif  // TRANSPORT_DEADLINE_AFTER_H_
