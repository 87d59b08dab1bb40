// Whether a worker of a job can begin to train on this machine.
#ifndef WORKER_JOB_CHECK_H_
#define WORKER_JOB_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "worker/worker_memory.h"

namespace ps {

struct CheckedJob {
  // As in "mlp with 6,370 parameters, 200 training examples, 50 test examples,
  // 25 iterations".
  std::string summary;
  // All 0 if it computes on a device.
  WorkerMemory memory;
  std::string data_text;           // The text of the DataDescription.
  std::vector<std::string> notes;  // Of the job, and of its data.
  // cluster.num_servers; 1 if the job does not say it, and the model makes only
  // one slice of weights.
  int num_servers = 0;
};

// Reads the data, plans the model, deals it to the servers and reads
// model.initial_weights, as Train does, and keeps nothing of it. `config` has
// been validated. Errors: those of MakeTrainingParts, PlanShards and
// MakeInitialWeights.
absl::StatusOr<CheckedJob> CheckTraining(const JobConfig& config,
                                         int worker_rank);

// Reads every example of both sets, on all cores, which can take as long as an
// epoch. `config` has been validated. Errors: those of NewDataset; kDataLoss,
// with the number of examples that cannot be read, and the reasons for the
// first of them.
absl::Status CheckEveryExample(const JobConfig& config);

}  // namespace ps

#endif  // WORKER_JOB_CHECK_H_
