// Creates the parts with which one worker trains: its data, the plan of its
// iterations, its backend and its model.
#ifndef WORKER_TRAINING_PARTS_H_
#define WORKER_TRAINING_PARTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "models/model.h"
#include "proto/config.pb.h"
#include "tensor/backend.h"
#include "worker/bucket_plan.h"
#include "worker/layer_parallel/stage_links.h"
#include "worker/training_plan.h"

namespace ps {

struct TrainingParts {
  DatasetPair data;
  int64_t data_bytes = 0;  // The heap memory of `data`.
  TrainingSet set;         // The sizes of data.train.
  std::unique_ptr<TrainingPlan> plan;
  // The notes on the job and its data, for people.
  std::vector<std::string> notes;
  std::unique_ptr<Backend> backend;
  // The links, in jobs whose workers have stages; else null. They must be
  // connected before the model trains.
  std::unique_ptr<StageLinks> stage_links;
  // The model uses the backend and the links, which must outlive it.
  std::unique_ptr<Model> model;
  // The LayerRates of the model's parameters, and their PlanBuckets.
  std::vector<double> rates;
  std::vector<Bucket> buckets;
  // All initial weights, if some tensors are frozen, because no server has
  // those. Otherwise empty.
  std::vector<float> initial_weights;
};

// Returns the number of parameters and, if some are frozen, of those that are
// trained, for messages.
std::string ParametersText(const TrainingParts& parts);

// Creates the parts that the config describes. Logs where this worker computes,
// and why. Errors: those of the config, the data or the device.
absl::StatusOr<TrainingParts> MakeTrainingParts(const JobConfig& config,
                                                int worker_rank);

}  // namespace ps

#endif  // WORKER_TRAINING_PARTS_H_
