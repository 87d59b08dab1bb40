// Makes a worker train the stages of its network side by side
// (docs/layer_parallel.md).
#ifndef WORKER_LAYER_PARALLEL_TRAIN_IN_STAGES_H_
#define WORKER_LAYER_PARALLEL_TRAIN_IN_STAGES_H_

#include <memory>

#include "absl/status/status.h"
#include "data/dataset.h"
#include "models/model.h"
#include "proto/config.pb.h"
#include "tensor/backend.h"
#include "worker/layer_parallel/stage_links.h"
#include "worker/training_plan.h"

namespace ps {

// Replaces *model and *train, the training set, as the validated
// training.layer_parallel says. All other parts of a worker are unchanged.
// links: to the workers with the other stages; null if this one has all. Plan,
// backend and links are not owned, and outlive the model. Errors: those of
// NewStagedModel; kInvalidArgument on a device other than the CPU.
absl::Status TrainInStages(const JobConfig& config, const TrainingPlan& plan,
                           Backend* backend, StageLinks* links,
                           std::unique_ptr<Model>* model,
                           std::unique_ptr<Dataset>* train);

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_TRAIN_IN_STAGES_H_
