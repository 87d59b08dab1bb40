// Defines the times of a worker.
#ifndef WORKER_TIMINGS_H_
#define WORKER_TIMINGS_H_

#include <algorithm>

#include "transport/server_timings.h"

namespace ps {

// The times of one push and of the iterations that lead to it, in seconds.
struct Timings {
  // The worker's own time; less `overlapped`, these four add up to the whole.
  double compute = 0;
  double compress = 0;  // The time of selecting and encoding.
  double await = 0;     // The time of waiting for answers alone.
  double apply = 0;     // The time of writing answers into the weights.
  // The part of compress and apply that ran on a separate thread, in parallel
  // with the computation.
  double overlapped = 0;
  // The time from the first push to the last answer. The part that is not in
  // `await` was hidden behind other work.
  double communication = 0;
  // The mean over the slices of a push's time outside the server.
  double wire = 0;
  // `held` and `wait` are means over the slices, the others are sums.
  ServerTimings server;

  double iteration() const {
    return compute + compress + await + apply - overlapped;
  }
  // The share of the communication during which the worker did other work: 0 if
  // it only waited, 1 if it never waited; NaN without communication. The two
  // times are read at slightly different moments.
  double HiddenShare() const {
    return std::clamp(1 - await / communication, 0.0, 1.0);
  }
};

// Calls visit(name, field) for each field of a Timings, const or not. The names
// are those in metrics.jsonl and on the live page.
template <typename SomeTimings, typename Visit>
void ForEachTiming(SomeTimings& timings, Visit visit) {
  visit("compute", timings.compute);
  visit("compress", timings.compress);
  visit("await", timings.await);
  visit("apply", timings.apply);
  visit("overlapped", timings.overlapped);
  visit("communication", timings.communication);
  visit("wire", timings.wire);
  visit("held", timings.server.held);
  visit("server_wait", timings.server.wait);
  visit("server_sum", timings.server.sum);
  visit("server_optimizer", timings.server.optimizer);
  visit("server_encode", timings.server.encode);
}

}  // namespace ps

#endif  // WORKER_TIMINGS_H_
