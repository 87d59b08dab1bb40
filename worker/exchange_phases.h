// Where the time of an iteration goes.
#ifndef WORKER_EXCHANGE_PHASES_H_
#define WORKER_EXCHANGE_PHASES_H_

namespace ps {

// Where one iteration's time went on this worker. Seconds.
struct ExchangePhases {
  // Of the worker: these add up to the iteration, together with the
  // computation and without `overlapped`.
  double compress = 0;  // Choosing and coding what is sent.
  double apply = 0;     // Writing the answers into the weights.
  double await = 0;     // Nothing to do but wait for answers.
  // Of compress and apply: on a thread of their own, beside the computation.
  double overlapped = 0;
  // From the first push to the last answer; what of it is not `await` was
  // hidden behind other work.
  double communication = 0;
  // Means over the slices: between a push and its answer, outside the server;
  // at the server; of that, waiting for other workers' pushes.
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
