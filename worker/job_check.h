// Whether a worker of a job can begin to train on this machine.
#ifndef WORKER_JOB_CHECK_H_
#define WORKER_JOB_CHECK_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace ps {

// Reads the data, plans the model, deals it to the servers and reads
// model.initial_weights, as Train does, and keeps nothing of it. `config` has
// been validated. Returns what will be trained, as in "mlp with 6,370
// parameters, 200 training examples, 50 test examples, 25 iterations". Errors:
// those of MakeTrainingParts, PlanShards and MakeFirstWeights.
absl::StatusOr<std::string> CheckTraining(const JobConfig& config,
                                          int worker_rank);

}  // namespace ps

#endif  // WORKER_JOB_CHECK_H_
