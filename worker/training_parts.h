// The parts with which one worker trains: its data, the plan of its iterations,
// its backend and its model.
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
  int64_t data_bytes = 0;  // What `data` holds on the heap.
  TrainingSet set;         // What is known of data.train.
  std::unique_ptr<TrainingPlan> plan;
  // Those of the job and of its data, for people.
  std::vector<std::string> notes;
  std::unique_ptr<Backend> backend;
  // In jobs whose workers have stages; else null. To be connected before the
  // model trains.
  std::unique_ptr<StageLinks> stage_links;
  // Uses the backend and the links, which must outlive it.
  std::unique_ptr<Model> model;
  // LayerRates of the model's parameters, and PlanBuckets.
  std::vector<double> rates;
  std::vector<Bucket> buckets;
  // With frozen tensors: all initial weights, because no server has those of
  // the frozen ones. Otherwise empty.
  std::vector<float> initial_weights;
};

// How many parameters the model has and, if some are frozen, how many are
// trained, for messages.
std::string ParametersText(const TrainingParts& parts);

// Makes the parts that the config describes. Logs where this worker computes,
// and why. Errors: those of the config, the data or the device.
absl::StatusOr<TrainingParts> MakeTrainingParts(const JobConfig& config,
                                                int worker_rank);

}  // namespace ps

#endif  // WORKER_TRAINING_PARTS_H_
