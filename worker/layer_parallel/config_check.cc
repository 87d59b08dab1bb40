// Checks training.layer_parallel for combinations that the method does not
// cover.

#include "common/config_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/stage_workers.h"
#include "compressors/compressor.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

constexpr char kSection[] = "training.layer_parallel";
void CheckSection(const LayerParallelConfig& config, ConfigProblems* problems) {
  if (!config.cut_before().empty() &&
      config.cut_before_size() != config.stages() - 1) {
    problems->Add(absl::StrCat(kSection, ".cut_before"),
                  absl::StrCat("a list of ", config.cut_before_size()),
                  absl::StrCat("must have one layer less than the ",
                               config.stages(), " stages, or none"));
  }
  if (config.has_aux_network() &&
      config.method() != LayerParallelConfig::PENALTY) {
    problems->Add(
        absl::StrCat(kSection, ".method"),
        LayerParallelConfig::Method_Name(config.method()),
        "must be PENALTY with aux_network: multipliers need examples that do "
        "not change");
  }
}

// Checks jobs whose workers each have a stage, with a gradient of 0 elsewhere.
void CheckWorkers(const JobConfig& job, ConfigProblems* problems) {
  constexpr char kOneStage[] = "a worker has the gradient of one stage only";
  if (job.has_worker_optimizer()) {
    problems->Add("worker_optimizer.name", job.worker_optimizer().name(),
                  absl::StrCat("must not be set with a worker for each stage "
                               "of ",
                               kSection, ": ", kOneStage));
  }
  if (job.compressor().clip_norm() > 0) {
    problems->Add("compressor.clip_norm",
                  absl::StrCat(job.compressor().clip_norm()),
                  absl::StrCat("must be 0 with a worker for each stage of ",
                               kSection, ": ", kOneStage));
  }
  const auto action = job.consistency().push_norms().action();
  if (action != PushNormsConfig::ACCEPT) {
    problems->Add("consistency.push_norms.action",
                  PushNormsConfig::Action_Name(action),
                  absl::StrCat("must be ACCEPT with a worker for each stage "
                               "of ",
                               kSection, ": ", kOneStage));
  }
  if (SharesPositions(job.compressor(), job.cluster().num_workers())) {
    problems->Add("compressor.name", job.compressor().name(),
                  absl::StrCat("must not share positions between workers with "
                               "a worker for each stage of ",
                               kSection, ": ", kOneStage));
  }
}

void CheckLayerParallel(const JobConfig& job, ConfigProblems* problems) {
  if (!job.training().has_layer_parallel()) return;
  const LayerParallelConfig& config = job.training().layer_parallel();
  CheckSection(config, problems);
  if (config.stages() == 1) return;
  const std::string with = absl::StrCat(" with ", kSection);
  const int num_workers = job.cluster().num_workers();
  if (num_workers != 1 && num_workers != config.stages()) {
    problems->Add("cluster.num_workers", absl::StrCat(num_workers),
                  absl::StrCat("must be 1 or ", config.stages(), with,
                               ": one worker runs all stages, or each runs "
                               "one"));
  }
  if (WorkersHaveStages(job)) CheckWorkers(job, problems);
  if (job.consistency().mode() != ConsistencyConfig::SYNCHRONOUS) {
    problems->Add("consistency.mode",
                  ConsistencyConfig::Mode_Name(job.consistency().mode()),
                  absl::StrCat("must be SYNCHRONOUS", with));
  }
  if (job.consistency().step_timeout_seconds() > 0) {
    problems->Add("consistency.step_timeout_seconds",
                  absl::StrCat(job.consistency().step_timeout_seconds()),
                  absl::StrCat("must be 0", with));
  }
  if (job.checkpoint().replace_lost_workers()) {
    problems->Add("checkpoint.replace_lost_workers", "true",
                  absl::StrCat("must be false", with,
                               ": no other worker has the auxiliary variables "
                               "of a lost one"));
  }
  if (job.training().precision() != TrainingConfig::FP32) {
    problems->Add("training.precision",
                  TrainingConfig::Precision_Name(job.training().precision()),
                  absl::StrCat("must be FP32", with));
  }
}

[[maybe_unused]] const bool kCheckRegistered =
    RegisterConfigCheck(CheckLayerParallel);

}  // namespace
}  // namespace ps
