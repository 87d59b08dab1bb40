#include "worker/job_check.h"

#include "absl/strings/str_cat.h"
#include "common/counted.h"
#include "common/status_macros.h"
#include "transport/shard_map.h"
#include "worker/bucket_plan.h"
#include "worker/first_weights.h"
#include "worker/training_parts.h"

namespace ps {

absl::StatusOr<std::string> CheckTraining(const JobConfig& config,
                                          int worker_rank) {
  PS_ASSIGN_OR_RETURN(const TrainingParts parts,
                      MakeTrainingParts(config, worker_rank));
  PS_RETURN_IF_ERROR(
      PlanShards(config.cluster(),
                 PlanBuckets(parts.model->parameters(),
                             config.training().bucket_megabytes() * (1 << 20)),
                 AveragedBuckets(config.training(),
                                 parts.model->statistics_values().size()))
          .status());
  if (worker_rank == 0 && !config.model().initial_weights().empty()) {
    PS_RETURN_IF_ERROR(
        MakeFirstWeights(config, parts.model.get(), parts.backend.get())
            .status());
  }
  return absl::StrCat(config.model().name(), " with ",
                      Counted(parts.model->num_parameters(), "parameter"), ", ",
                      Counted(parts.data.train->size(), "training example"),
                      ", ", Counted(parts.data.test->size(), "test example"),
                      ", ", Counted(parts.plan->total_iterations, "iteration"));
}

}  // namespace ps
