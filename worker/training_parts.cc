#include "worker/training_parts.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/stage_workers.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "worker/job_model.h"
#include "worker/job_notes.h"
#include "worker/layer_parallel/train_in_stages.h"

namespace ps {
namespace {

absl::Status ReadData(const JobConfig& config, TrainingParts* parts) {
  DatasetOptions data;
  data.config = config.data();
  data.seed = config.seed();
  PS_ASSIGN_OR_RETURN(parts->data, NewDataset(data));
  parts->set = {parts->data.train->size(), parts->data.train->order()};
  PS_ASSIGN_OR_RETURN(TrainingPlan plan, PlanTraining(config, parts->set));
  parts->plan = std::make_unique<TrainingPlan>(std::move(plan));
  parts->notes = JobNotes(config, *parts->plan);
  for (const std::string& note : parts->data.notes) {
    parts->notes.push_back(note);
  }
  for (const std::string& note : parts->notes) LOG(INFO) << "note: " << note;
  return absl::OkStatus();
}

// Checked now, so that the error does not come during or after the training.
absl::Status CheckSequences(const TrainingParts& parts) {
  for (const auto& [name, set] :
       {std::make_pair("training", parts.data.train.get()),
        std::make_pair("test", parts.data.test.get())}) {
    if (set->sequences() == nullptr) continue;
    PS_RETURN_IF_ERROR(Annotate(parts.model->CheckSequences(*set->sequences()),
                                absl::StrCat("the ", name, " set")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrainingParts> MakeTrainingParts(const JobConfig& config,
                                                int worker_rank) {
  TrainingParts parts;
  PS_RETURN_IF_ERROR(ReadData(config, &parts));
  PS_ASSIGN_OR_RETURN(parts.backend, MakeBackend(config, worker_rank));
  PS_ASSIGN_OR_RETURN(parts.model,
                      MakeModel(config, parts.data.train->example_shape(),
                                parts.backend.get()));
  PS_RETURN_IF_ERROR(CheckSequences(parts));
  // One example can be too few for batch normalisation, and only one.
  if (config.training().batch_size() == 1) {
    PS_RETURN_IF_ERROR(
        Annotate(parts.model->CheckBatchSize(1), "training.batch_size is 1"));
  }
  if (config.training().has_layer_parallel()) {
    if (WorkersHaveStages(config)) {
      parts.stage_links = std::make_unique<StageLinks>(
          worker_rank, config.cluster().num_workers());
    }
    PS_RETURN_IF_ERROR(TrainInStages(config, *parts.plan, parts.backend.get(),
                                     parts.stage_links.get(), &parts.model,
                                     &parts.data.train));
  }
  return parts;
}

}  // namespace ps
