// What the exchange with the servers cost in time, as a run's records have it.
#ifndef TOOLS_REPORT_EXCHANGE_TIMES_H_
#define TOOLS_REPORT_EXCHANGE_TIMES_H_

#include "tools/report/run_records.h"

namespace ps {

// Worker 0's, over all iterations that record phases. Numbers that no record
// gives are NaN.
struct ExchangeTimes {
  // Mean seconds of an iteration, and its parts, which make it up together
  // with what was done beside the computation, which counts once.
  double iteration = 0;
  double compute = 0;
  double compress = 0;
  double apply = 0;
  double await = 0;
  // Of compress and apply: on a thread beside the one that computes.
  double overlapped = 0;
  // From the first push to the last answer.
  double communication = 0;

  // Of the communication, the share during which the worker did something else:
  // 0 where it only waited, 1 where it never did.
  double HiddenShare() const;
};

ExchangeTimes MeasureExchange(const RunRecords& run);

}  // namespace ps

#endif  // TOOLS_REPORT_EXCHANGE_TIMES_H_
