// Checks the optimizer of a job and its requirements on other parts of the
// config.
#include "common/config_check.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/consistency.h"
#include "common/external_model.h"
#include "common/field_rules.h"
#include "common/nearest_word.h"
#include "optimizers/optimizer.h"
#include "optimizers/pushed_only.h"

namespace ps {
namespace {

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", text, "\"");
}

// Checks the fields of one rule; `path` is "optimizer." or "worker_optimizer.".
void CheckFieldsOfRule(const OptimizerConfig& config, const std::string& path,
                       ConfigProblems* problems) {
  const std::string& name = config.name();
  if (name == "momentum" || name == "nesterov" || name == "lars") {
    problems->CheckThat(
        config.momentum() != 0, path + "momentum", config.momentum(),
        name == "lars" ? std::string("must be in (0, 1)")
                       : absl::StrCat("must be in (0, 1); for none use ", path,
                                      "name=sgd"));
  }
  problems->CheckThat(
      name != "nesterov" || config.dampening() == 0, path + "dampening",
      config.dampening(),
      absl::StrCat("must be 0 with ", path,
                   "name \"nesterov\", which looks ahead by whole "
                   "gradients"));
}

void CheckLayerRates(const OptimizerConfig& config, const std::string& path,
                     ConfigProblems* problems) {
  for (int i = 0; i < config.layer_rates_size(); ++i) {
    const LayerRate& each = config.layer_rates(i);
    const std::string at = absl::StrCat(path, "layer_rates[", i, "].");
    problems->CheckThat(!each.layers().empty(), at + "layers", "empty",
                        "must name tensors, as \"fc.*\"");
    CheckFields(each, at, problems);
  }
}

void CheckSparseUpdate(const OptimizerConfig& config, bool layer_wise,
                       ConfigProblems* problems) {
  if (config.sparse_update() != OptimizerConfig::LAZY) return;
  const std::string field = "optimizer.sparse_update";
  if (layer_wise) {
    problems->Add(field, "LAZY",
                  absl::StrCat("must be DENSE with optimizer.name ",
                               Quoted(config.name()),
                               ", which needs the norms of whole tensors"));
  }
  if (config.name() == "momentum" && config.dampening() != 0) {
    problems->Add("optimizer.dampening", absl::StrCat(config.dampening()),
                  "must be 0 with optimizer.sparse_update LAZY: an element's "
                  "first gradient, which is not dampened, may come at any "
                  "update");
  }
  if (config.majority_vote()) {
    problems->Add(field, "LAZY",
                  "must be DENSE with optimizer.majority_vote: every element "
                  "gets a vote");
  }
}

void CheckClipping(const JobConfig& job, ConfigProblems* problems) {
  problems->CheckThat(
      job.optimizer().step_ahead() == 1, "optimizer.step_ahead",
      job.optimizer().step_ahead(),
      "is a field of worker_optimizer: only workers with an optimizer of "
      "their own step ahead");
  const double clip_norm = job.optimizer().clip_norm();
  const std::string field = "optimizer.clip_norm";
  if (clip_norm == 0) return;
  problems->CheckThat(
      job.compressor().clip_norm() == 0, field, clip_norm,
      "must be 0 with compressor.clip_norm, which has clipped the "
      "gradient already");
  // Layer-wise rules are allowed with majority vote: the norm of the weights is
  // still meaningful, and novograd's division by the norm of the votes is only
  // a constant factor.
  problems->CheckThat(
      !job.optimizer().majority_vote(), field, clip_norm,
      "must be 0 with optimizer.majority_vote: votes have the same norm "
      "at every update; lower the learning rate instead");
}

void CheckDownlink(const JobConfig& job, ConfigProblems* problems) {
  const DownlinkConfig& downlink = job.downlink();
  const std::string& code = downlink.value_code();
  problems->CheckThat(
      code == "fp32" || !SendsDifferences(downlink), "downlink.value_code",
      Quoted(code),
      "must be \"fp32\" with a downlink.compressor, which has a value_code "
      "of its own");
  problems->CheckThat(
      downlink.mode() != DownlinkConfig::UPDATE ||
          ChangesOnlyWhatWasPushed(job),
      "downlink.mode", "UPDATE",
      "needs an optimizer that changes only what was pushed: \"sgd\" or "
      "\"adagrad\" with weight_decay 0, or one with sparse_update LAZY; "
      "and no majority_vote");
}

// Checks a job in which each push is an update: servers do not apply the same
// update at the same time.
void CheckEachPush(const JobConfig& job, ConfigProblems* problems) {
  if (!UpdatesByEachPush(job)) return;
  const std::string mode =
      ConsistencyConfig::Mode_Name(job.consistency().mode());
  const std::string field = "consistency.mode";
  if (NeedsNorms(job.optimizer())) {
    problems->Add(
        field, mode,
        "must be SYNCHRONOUS with \"lars\", \"lamb\", \"novograd\" and "
        "optimizer.clip_norm, which need the norms of one gradient "
        "from all servers");
  }
  if (job.optimizer().name() == "adagrad" &&
      job.optimizer().learning_rate_decay() != 0) {
    problems->Add("optimizer.learning_rate_decay",
                  absl::StrCat(job.optimizer().learning_rate_decay()),
                  absl::StrCat("must be 0 with consistency.mode ", mode,
                               ", where each push is an update; let the rate "
                               "fall by schedule"));
  }
  if (job.optimizer().majority_vote()) {
    problems->Add(field, mode,
                  "must be SYNCHRONOUS with optimizer.majority_vote, for which "
                  "all workers vote on an update");
  }
  if (SendsDifferences(job.downlink())) {
    problems->Add(field, mode,
                  "must be SYNCHRONOUS with downlink.compressor, for which all "
                  "workers hold the same weights; UPDATE without it sends what "
                  "changed");
  }
}

// Creates the rule, or reports its unknown name and returns null.
std::unique_ptr<Optimizer> MakeRule(const OptimizerConfig& config,
                                    const std::string& path,
                                    ConfigProblems* problems) {
  OptimizerOptions options;
  options.config = config;
  absl::StatusOr<std::unique_ptr<Optimizer>> rule = NewOptimizer(options);
  if (rule.ok()) return *std::move(rule);
  const std::vector<std::string> known = OptimizerRegistry().Names();
  problems->Add(path + "name", Quoted(config.name()),
                absl::c_linear_search(known, config.name())
                    ? std::string(rule.status().message())
                    : MustBeOneOf(config.name(), known));
  return nullptr;
}

// Checks the workers' rule, and reports the fields that delta mode forbids.
void CheckWorkerOptimizer(const JobConfig& job, ConfigProblems* problems) {
  if (!job.has_worker_optimizer()) return;
  const OptimizerConfig& config = job.worker_optimizer();
  const std::string path = "worker_optimizer.";
  // The rule of an external one is in the user's program.
  if (config.name() != kExternal) {
    const auto rule = MakeRule(config, path, problems);
    if (rule == nullptr) return;
    CheckFieldsOfRule(config, path, problems);
    CheckLayerRates(config, path, problems);
    problems->CheckThat(
        !rule->layer_wise(), path + "name", Quoted(config.name()),
        "must be a rule that needs no norms of whole tensors, which are "
        "those of all workers' gradients: use it as optimizer.name, "
        "without worker_optimizer");
  }
  problems->CheckThat(
      config.sparse_update() == OptimizerConfig::DENSE, path + "sparse_update",
      "LAZY", "must be DENSE: a worker's own gradient has all elements");
  problems->CheckThat(
      !config.majority_vote() && !job.optimizer().majority_vote(),
      "optimizer.majority_vote", "true",
      "must be false with worker_optimizer: workers push steps, which "
      "are no votes");
  problems->CheckThat(job.optimizer().layer_rates().empty(),
                      "optimizer.layer_rates", "set",
                      "must be in worker_optimizer, which makes the steps");
  problems->CheckThat(
      !NeedsNorms(job.optimizer()), "optimizer.name",
      Quoted(job.optimizer().name()),
      "must be a rule without norms, and optimizer.clip_norm 0, with "
      "worker_optimizer, whose pushes are not gradients");
  const CompressorConfig& compressor = job.compressor();
  problems->CheckThat(
      compressor.error_feedback(), "compressor.error_feedback", "false",
      "must be true with worker_optimizer: what is not sent stays in a "
      "worker's own weights");
  problems->CheckThat(
      compressor.clip_norm() == 0, "compressor.clip_norm",
      compressor.clip_norm(),
      "must be 0 with worker_optimizer, whose steps are compressed: use "
      "worker_optimizer.clip_norm, which limits the gradient");
  problems->CheckThat(
      compressor.momentum_correction().momentum() == 0,
      "compressor.momentum_correction.momentum",
      compressor.momentum_correction().momentum(),
      "must be 0 with worker_optimizer, which has the momentum: use "
      "worker_optimizer.name=momentum");
}

void CheckOptimizer(const JobConfig& job, ConfigProblems* problems) {
  const OptimizerConfig& config = job.optimizer();
  CheckClipping(job, problems);
  const auto rule = MakeRule(config, "optimizer.", problems);
  CheckWorkerOptimizer(job, problems);
  if (rule == nullptr) return;
  CheckFieldsOfRule(config, "optimizer.", problems);
  CheckLayerRates(config, "optimizer.", problems);
  CheckSparseUpdate(config, rule->layer_wise(), problems);
  CheckDownlink(job, problems);
  CheckEachPush(job, problems);
}

[[maybe_unused]] const bool registered = RegisterConfigCheck(CheckOptimizer);

}  // namespace
}  // namespace ps
