// The time of the exchange with the servers, from a run's records.
#ifndef TOOLS_REPORT_EXCHANGE_TIMES_H_
#define TOOLS_REPORT_EXCHANGE_TIMES_H_

#include "tools/report/run_records.h"

namespace ps {

// Times of worker 0 over all iterations that record phases. Numbers that are
// not in the records are NaN.
struct ExchangeTimes {
  // Mean seconds of an iteration and of its parts. The parts add up to the
  // iteration if `overlapped`, which ran beside the computation, is subtracted.
  double iteration = 0;
  double compute = 0;
  double compress = 0;
  double apply = 0;
  double await = 0;
  // The part of compress and apply that ran on another thread than the one that
  // computes.
  double overlapped = 0;
  // From the first push to the last answer.
  double communication = 0;

  // The share of the communication during which the worker did other work: 0 if
  // it only waited, 1 if it never waited.
  double HiddenShare() const;
};

ExchangeTimes MeasureExchange(const RunRecords& run);

}  // namespace ps

#endif  // TOOLS_REPORT_EXCHANGE_TIMES_H_
