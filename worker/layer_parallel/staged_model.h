// A model that trains its stages side by side, in serial and parallel phases.
#ifndef WORKER_LAYER_PARALLEL_STAGED_MODEL_H_
#define WORKER_LAYER_PARALLEL_STAGED_MODEL_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/batch.h"
#include "data/dataset.h"
#include "models/model.h"
#include "proto/layer_parallel_config.pb.h"
#include "tensor/backend.h"
#include "worker/layer_parallel/phase_plan.h"
#include "worker/layer_parallel/stage_links.h"
#include "worker/training_plan.h"

namespace ps {

struct StagedModelOptions {
  LayerParallelConfig config;
  std::unique_ptr<Model> model;  // The whole network.
  ExampleShape example;
  uint64_t seed = 0;
  int64_t batch_size = 0;  // The size of a batch of all workers together.
  int64_t num_examples = 0;
  const TrainingPlan* plan = nullptr;  // Not owned; outlives the model.
  std::shared_ptr<const PhasePlan> phases;
  // The training set without augmentation, for examples that the last serial
  // epoch omitted.
  std::shared_ptr<const Dataset> plain;
  // The links to the workers with the other stages; null if this one has all.
  // Not owned; outlives the model.
  StageLinks* links = nullptr;
  Backend* backend = nullptr;  // The CPU's. Not owned; outlives the model.
};

// Creates the model. Each ForwardBackward is the next iteration of the
// training, with the examples that the sampler names to rank 0, and runs this
// worker's stages one after the other. A worker with one of several stages gets
// a gradient that is 0 in others, and that of its stage times the number of
// workers, so that the mean over workers is the gradient of the network;
// likewise with the loss. In parallel phases the statistics of batch
// normalisation are unchanged: they would be those of auxiliary variables.
// Evaluations are those of the whole network. The state of checkpoints includes
// all auxiliary variables. Errors of the factory: those of CutNetwork, and
// kResourceExhausted above the memory limit.
absl::StatusOr<std::unique_ptr<Model>> NewStagedModel(
    StagedModelOptions options);

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_STAGED_MODEL_H_
