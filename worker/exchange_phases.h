// The time that the parts of an iteration take.
#ifndef WORKER_EXCHANGE_PHASES_H_
#define WORKER_EXCHANGE_PHASES_H_

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
  // Means over the slices. wire: time between a push and its answer outside the
  // server. held: time at the server. server_wait: the part of `held` spent
  // waiting for other workers' pushes.
  double wire = 0;
  double held = 0;
  double server_wait = 0;
  // Work of the servers on all slices, for all workers together.
  double server_sum = 0;
  double server_optimizer = 0;
  double server_encode = 0;
};

}  // namespace ps

#endif  // WORKER_EXCHANGE_PHASES_H_
