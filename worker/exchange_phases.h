// The time that the parts of an iteration take.
#ifndef WORKER_EXCHANGE_PHASES_H_
#define WORKER_EXCHANGE_PHASES_H_

#include "transport/server_work.h"

namespace ps {

// The phases of one iteration on this worker. Seconds.
struct ExchangePhases {
  // The worker's own time. Computation, compress, apply and await, less
  // `overlapped`, add up to the iteration.
  double compress = 0;  // Selecting and encoding what is sent.
  double apply = 0;     // Writing the answers into the weights.
  double await = 0;     // Nothing to do but wait for answers.
  // The part of compress and apply that ran on a separate thread, in parallel
  // with the computation.
  double overlapped = 0;
  // From the first push to the last answer. The part that is not in `await` was
  // hidden behind other work.
  double communication = 0;
  // Mean over the slices: time between a push and its answer outside the server.
  double wire = 0;
  // `held` and `wait` are means over the slices, `update` is their sum.
  ServerWork server;
};

}  // namespace ps

#endif  // WORKER_EXCHANGE_PHASES_H_
