// Creates the initial weights of a training run.
#ifndef WORKER_INITIAL_WEIGHTS_H_
#define WORKER_INITIAL_WEIGHTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "models/model.h"
#include "proto/config.pb.h"
#include "tensor/backend.h"

namespace ps {

struct InitialWeights {
  std::vector<float> weights;     // [num_parameters]
  std::vector<float> statistics;  // The model's statistics.
};

// Draws random weights from the job's seed, and replaces them by those in the
// file model.initial_weights, if there is one, except for model.ignore. Errors:
// those of LoadSomeWeights, naming the field.
absl::StatusOr<InitialWeights> MakeInitialWeights(const JobConfig& config,
                                                  Model* model,
                                                  Backend* backend);

}  // namespace ps

#endif  // WORKER_INITIAL_WEIGHTS_H_
