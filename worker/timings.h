// Where a worker's time goes.
#ifndef WORKER_TIMINGS_H_
#define WORKER_TIMINGS_H_

#include <algorithm>

#include "transport/server_timings.h"

namespace ps {

// The time of one push and of the iterations that lead to it. Seconds.
struct Timings {
  // The worker's own time; less `overlapped`, these four add up to the whole.
  double compute = 0;
  double compress = 0;  // Selecting and encoding what is sent.
  double await = 0;     // Nothing to do but wait for answers.
  double apply = 0;     // Writing the answers into the weights.
  // The part of compress and apply that ran on a separate thread, in parallel
  // with the computation.
  double overlapped = 0;
  // From the first push to the last answer. The part that is not in `await` was
  // hidden behind other work.
  double communication = 0;
  // Mean over the slices: time between a push and its answer outside the
  // server.
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
