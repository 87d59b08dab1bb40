#include "worker/training_parts.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/counted.h"
#include "common/external_model.h"
#include "common/machine_limits.h"
#include "common/stage_workers.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "tensor/tensor.h"
#include "worker/initial_weights.h"
#include "worker/job_model.h"
#include "worker/job_notes.h"
#include "worker/layer_parallel/train_in_stages.h"
#include "worker/layer_rates.h"

namespace ps {
namespace {

absl::Status ReadData(const JobConfig& config, TrainingParts* parts) {
  DatasetOptions data;
  data.config = config.data();
  data.seed = config.seed();
  const int64_t before = HeapBytes();
  PS_ASSIGN_OR_RETURN(parts->data, NewDataset(data));
  parts->data_bytes = HeapBytes() - before;
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

// Checks early, so that the error does not come during the training.
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

// Takes weights that servers do not send, on which workers must agree.
absl::Status TakeFrozenWeights(const JobConfig& config, TrainingParts* parts) {
  if (!absl::c_linear_search(parts->rates, 0)) return absl::OkStatus();
  PS_ASSIGN_OR_RETURN(
      InitialWeights first,
      MakeInitialWeights(config, parts->model.get(), parts->backend.get()));
  parts->initial_weights = std::move(first.weights);
  std::string frozen;
  const std::vector<ParameterInfo>& parameters = parts->model->parameters();
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (parts->rates[p] != 0) continue;
    const float* const values =
        parts->initial_weights.data() + parameters[p].offset;
    frozen.append(reinterpret_cast<const char*>(values),
                  NumElements(parameters[p].shape) * sizeof(float));
  }
  parts->data.description.AddDigest("frozen weights (model.initial_weights)",
                                    frozen);
  return absl::OkStatus();
}

absl::Status PlanGradient(const JobConfig& config, TrainingParts* parts) {
  const std::vector<ParameterInfo>& parameters = parts->model->parameters();
  PS_ASSIGN_OR_RETURN(parts->rates, LayerRates(config, parameters));
  parts->buckets =
      PlanBuckets(parameters, parts->rates,
                  config.training().bucket_megabytes() * (1 << 20));
  PS_RETURN_IF_ERROR(TakeFrozenWeights(config, parts));
  if (config.compressor().clip_norm() == 0 || parts->buckets.size() == 1) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "layer_rates freezes tensors between others, so that the gradient has ",
      parts->buckets.size(),
      " buckets; compressor.clip_norm needs one: use optimizer.clip_norm"));
}

}  // namespace

std::string ParametersText(const TrainingParts& parts) {
  const int64_t all = parts.model->num_parameters();
  const int64_t trained = NumTrained(parts.buckets);
  std::string text = Counted(all, "parameter");
  if (trained < all) absl::StrAppend(&text, " (", trained, " of them trained)");
  return text;
}

absl::StatusOr<TrainingParts> MakeTrainingParts(const JobConfig& config,
                                                int worker_rank) {
  PS_RETURN_IF_ERROR(CheckModelIsHere(config.model()));
  TrainingParts parts;
  PS_RETURN_IF_ERROR(ReadData(config, &parts));
  PS_ASSIGN_OR_RETURN(parts.backend, MakeBackend(config, worker_rank));
  PS_ASSIGN_OR_RETURN(parts.model,
                      MakeModel(config, parts.data.train->example_shape(),
                                parts.backend.get()));
  PS_RETURN_IF_ERROR(CheckSequences(parts));
  PS_RETURN_IF_ERROR(PlanGradient(config, &parts));
  // Batch normalisation may need more than one example.
  if (config.training().batch_size() == 1) {
    PS_RETURN_IF_ERROR(
        Annotate(parts.model->PlanBytes(1, /*training=*/true).status(),
                 "training.batch_size is 1"));
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
