// Advises on a job that compresses only one of its two directions.
#ifndef WORKER_RECORDS_TRAFFIC_ADVICE_H_
#define WORKER_RECORDS_TRAFFIC_ADVICE_H_

#include <string>

#include "proto/config.pb.h"
#include "worker/records/run_totals.h"

namespace ps {

// Returns a sentence if one direction takes more than four times the bytes of
// the other, with the field of the job that changes it; else empty.
std::string TrafficAdvice(const JobConfig& job, const RunTotals& totals);

}  // namespace ps

#endif  // WORKER_RECORDS_TRAFFIC_ADVICE_H_
