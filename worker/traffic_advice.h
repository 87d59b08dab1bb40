// Advice for a job that compresses only one of its two directions.
#ifndef WORKER_TRAFFIC_ADVICE_H_
#define WORKER_TRAFFIC_ADVICE_H_

#include <string>

#include "proto/config.pb.h"
#include "worker/run_totals.h"

namespace ps {

// If one direction takes more than four times the bytes of the other, a
// sentence that says so and which field of the job changes it; else empty.
std::string TrafficAdvice(const JobConfig& job, const RunTotals& totals);

}  // namespace ps

#endif  // WORKER_TRAFFIC_ADVICE_H_
