// Checks training.layer_parallel: its ranges, and combinations that the method
// does not cover.

#include "common/config_check.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/stage_workers.h"
#include "compressors/compressor.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

constexpr char kSection[] = "training.layer_parallel";
constexpr int kMaxStages = 16;
constexpr int kMaxInnerSteps = 100;
constexpr int kMaxFilterExtent = 8;

// Adds problems of fields in the section.
class Section {
 public:
  Section(const LayerParallelConfig& config, ConfigProblems* problems)
      : config_(config), problems_(problems) {}

  void Check() const {
    Range("stages", config_.stages(), 1, kMaxStages);
    Range("inner_steps", config_.inner_steps(), 0, kMaxInnerSteps);
    Range("filter_extent", config_.filter_extent(), 1, kMaxFilterExtent);
    AtLeastOne("warm_start_epochs", config_.warm_start_epochs());
    AtLeastOne("parallel_epochs", config_.parallel_epochs());
    AtLeastOne("serial_epochs", config_.serial_epochs());
    NotNegative("penalty", config_.penalty());
    NotNegative("step_size", config_.step_size());
    Positive("penalty_scale", config_.penalty_scale());
    Positive("memory_limit_megabytes", config_.memory_limit_megabytes());
    if (!config_.cut_before().empty() &&
        config_.cut_before_size() != config_.stages() - 1) {
      Add("cut_before", absl::StrCat("a list of ", config_.cut_before_size()),
          absl::StrCat("must have one layer less than the ", config_.stages(),
                       " stages, or none"));
    }
    if (!config_.has_aux_network()) return;
    Positive("aux_network.learning_rate",
             config_.aux_network().learning_rate());
    if (config_.method() != LayerParallelConfig::PENALTY) {
      Add("method", LayerParallelConfig::Method_Name(config_.method()),
          "must be PENALTY with aux_network: multipliers need examples that do "
          "not change");
    }
  }

 private:
  void Add(const std::string& field, const std::string& value,
           const std::string& rule) const {
    problems_->Add(absl::StrCat(kSection, ".", field), value, rule);
  }
  void Range(const std::string& field, int value, int low, int high) const {
    if (value >= low && value <= high) return;
    Add(field, absl::StrCat(value),
        absl::StrCat("must be in [", low, ", ", high, "]"));
  }
  void AtLeastOne(const std::string& field, int value) const {
    if (value < 1) Add(field, absl::StrCat(value), "must be at least 1");
  }
  void NotNegative(const std::string& field, double value) const {
    if (value >= 0 && std::isfinite(value)) return;
    Add(field, absl::StrCat(value), "must be finite, and at least 0");
  }
  void Positive(const std::string& field, double value) const {
    if (value > 0 && std::isfinite(value)) return;
    Add(field, absl::StrCat(value), "must be finite, and above 0");
  }

  const LayerParallelConfig& config_;
  ConfigProblems* const problems_;
};

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
  Section(config, problems).Check();
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
