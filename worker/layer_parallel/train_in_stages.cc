#include "worker/layer_parallel/train_in_stages.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "data/dataset.h"
#include "worker/layer_parallel/phase_plan.h"
#include "worker/layer_parallel/phased_dataset.h"
#include "worker/layer_parallel/staged_model.h"

namespace ps {

absl::Status TrainInStages(const JobConfig& config, const TrainingPlan& plan,
                           Backend* backend, StageLinks* links,
                           std::unique_ptr<Model>* model,
                           std::unique_ptr<Dataset>* train) {
  const LayerParallelConfig& layer_parallel =
      config.training().layer_parallel();
  // This is ordinary training, bit for bit.
  if (layer_parallel.stages() == 1) return absl::OkStatus();
  if (backend->name() != "cpu") {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.layer_parallel is set; machine.device must be \"cpu\", not ",
        "the device \"", backend->name(), "\""));
  }
  DatasetOptions plain;
  plain.config = config.data();
  plain.seed = config.seed();
  plain.augment = false;
  PS_ASSIGN_OR_RETURN(DatasetPair plain_sets, NewDataset(plain));
  const std::shared_ptr<const Dataset> plain_set = std::move(plain_sets.train);

  const int64_t per_epoch = plan.sampler.iterations_per_epoch();
  const auto phases = std::make_shared<const PhasePlan>(
      layer_parallel, (plan.total_iterations + per_epoch - 1) / per_epoch);
  StagedModelOptions staged;
  staged.config = layer_parallel;
  staged.model = std::move(*model);
  staged.example = (*train)->example_shape();
  staged.seed = config.seed();
  staged.batch_size = config.training().batch_size();
  if (links != nullptr) staged.batch_size *= links->num_workers();
  staged.links = links;
  staged.num_examples = (*train)->size();
  staged.plan = &plan;
  staged.phases = phases;
  staged.plain = plain_set;
  staged.backend = backend;
  PS_ASSIGN_OR_RETURN(*model, NewStagedModel(std::move(staged)));
  // Variables that are kept for each example belong to the unchanged example.
  if (layer_parallel.has_aux_network()) return absl::OkStatus();
  *train =
      NewPhasedDataset(std::move(*train), plain_set, [phases](int64_t epoch) {
        return epoch < phases->epochs() &&
               (phases->parallel(epoch) || phases->records(epoch));
      });
  return absl::OkStatus();
}

}  // namespace ps
