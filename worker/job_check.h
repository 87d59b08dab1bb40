// Checks whether a worker of a job can begin to train on this machine.
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
  // A text such as "mlp with 6,370 parameters, 200 training examples, 50 test
  // examples, 25 iterations".
  std::string summary;
  // The memory; all 0 if the worker computes on a device.
  WorkerMemory memory;
  std::string data_text;           // The text of the DataDescription.
  std::vector<std::string> notes;  // Notes about the job, and about its data.
  // cluster.num_servers, or 1 if the job does not set it, and the model has
  // only one slice of weights.
  int num_servers = 0;
};

// Reads the data, plans the model, assigns its slices to servers and reads
// model.initial_weights, as Train does, and discards everything. `config` has
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
