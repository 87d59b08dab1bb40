// Checks the optimizer of a job and its requirements on other parts of the
// config. A field is checked only if the rule reads it.
#include "common/config_check.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/consistency.h"
#include "optimizers/optimizer.h"
#include "optimizers/optimizer_defaults.h"
#include "optimizers/pushed_only.h"

namespace ps {
namespace {

template <typename Number>
void CheckThat(bool holds, const std::string& field, Number value,
               const std::string& rule, ConfigProblems* problems) {
  if (!holds) problems->Add(field, absl::StrCat(value), rule);
}

bool AtLeastZero(double value) { return std::isfinite(value) && value >= 0; }

bool AboveZero(double value) { return std::isfinite(value) && value > 0; }

bool IsPart(double value) { return value >= 0 && value < 1; }

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", text, "\"");
}

void CheckFieldsOfRule(const OptimizerConfig& config,
                       ConfigProblems* problems) {
  const auto is = [&config](const std::vector<std::string>& names) {
    return absl::c_linear_search(names, config.name());
  };
  if (is({"momentum", "nesterov", "lars"})) {
    CheckThat(config.momentum() > 0 && config.momentum() < 1,
              "optimizer.momentum", config.momentum(),
              is({"lars"}) ? "must be in (0, 1)"
                           : "must be in (0, 1); for none use "
                             "optimizer.name=sgd",
              problems);
  }
  if (is({"adam", "adamw", "lamb", "novograd"})) {
    CheckThat(IsPart(Beta1(config)), "optimizer.beta1", Beta1(config),
              "must be in [0, 1)", problems);
    CheckThat(IsPart(Beta2(config)), "optimizer.beta2", Beta2(config),
              "must be in [0, 1)", problems);
  }
  if (is({"adam", "adamw", "lamb", "novograd", "adagrad", "lars"})) {
    CheckThat(AtLeastZero(Epsilon(config)), "optimizer.epsilon",
              Epsilon(config), "must be at least 0", problems);
  }
  if (is({"momentum"})) {
    CheckThat(IsPart(config.dampening()), "optimizer.dampening",
              config.dampening(), "must be in [0, 1)", problems);
  }
  if (is({"nesterov"})) {
    CheckThat(config.dampening() == 0, "optimizer.dampening",
              config.dampening(),
              "must be 0 with optimizer.name \"nesterov\", which looks ahead "
              "by whole gradients",
              problems);
  }
  if (is({"adagrad"})) {
    CheckThat(AtLeastZero(config.initial_accumulator()),
              "optimizer.initial_accumulator", config.initial_accumulator(),
              "must be at least 0", problems);
    CheckThat(AtLeastZero(config.learning_rate_decay()),
              "optimizer.learning_rate_decay", config.learning_rate_decay(),
              "must be at least 0", problems);
  }
  if (is({"lars"})) {
    CheckThat(AboveZero(config.trust_coefficient()),
              "optimizer.trust_coefficient", config.trust_coefficient(),
              "must be above 0", problems);
  }
  if (is({"lamb"})) {
    CheckThat(AtLeastZero(config.trust_clip()), "optimizer.trust_clip",
              config.trust_clip(), "must be above 0, or 0 for no limit",
              problems);
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
  const double clip_norm = job.optimizer().clip_norm();
  const std::string field = "optimizer.clip_norm";
  CheckThat(AtLeastZero(clip_norm), field, clip_norm,
            "must be finite and above 0, or 0 for no limit", problems);
  if (clip_norm == 0) return;
  CheckThat(job.compressor().clip_norm() == 0, field, clip_norm,
            "must be 0 with compressor.clip_norm, which has clipped the "
            "gradient already",
            problems);
  // Layer-wise rules are allowed with majority vote: the norm of the weights is
  // still meaningful, and novograd's division by the norm of the votes is only
  // a constant factor.
  CheckThat(!job.optimizer().majority_vote(), field, clip_norm,
            "must be 0 with optimizer.majority_vote: votes have the same norm "
            "at every update; lower the learning rate instead",
            problems);
}

void CheckDownlink(const JobConfig& job, ConfigProblems* problems) {
  const DownlinkConfig& downlink = job.downlink();
  const std::string& code = downlink.value_code();
  CheckThat(code == "fp32" || code == "fp16" || code == "bf16",
            "downlink.value_code", Quoted(code),
            "must be one of fp32, fp16, bf16", problems);
  CheckThat(downlink.mode() != DownlinkConfig::UPDATE ||
                ChangesOnlyWhatWasPushed(job),
            "downlink.mode", "UPDATE",
            "needs an optimizer that changes only what was pushed: \"sgd\" or "
            "\"adagrad\" with weight_decay 0, or one with sparse_update LAZY; "
            "and no majority_vote",
            problems);
}

// If each push is an update, servers do not apply the same update at the same
// time.
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
  if (job.downlink().mode() == DownlinkConfig::COMPRESSED) {
    problems->Add(
        field, mode,
        "must be SYNCHRONOUS with downlink.mode COMPRESSED, for which "
        "all workers hold the same weights; UPDATE sends what "
        "changed");
  }
}

void CheckOptimizer(const JobConfig& job, ConfigProblems* problems) {
  const OptimizerConfig& config = job.optimizer();
  CheckThat(AboveZero(config.learning_rate()), "optimizer.learning_rate",
            config.learning_rate(), "must be above 0", problems);
  CheckThat(AtLeastZero(WeightDecay(config)), "optimizer.weight_decay",
            WeightDecay(config), "must be at least 0", problems);
  CheckClipping(job, problems);
  OptimizerOptions options;
  options.config = config;
  const absl::StatusOr<std::unique_ptr<Optimizer>> rule = NewOptimizer(options);
  if (!rule.ok()) {
    problems->Add("optimizer.name", Quoted(config.name()),
                  absl::StrCat(rule.status().message()));
    return;
  }
  CheckFieldsOfRule(config, problems);
  CheckSparseUpdate(config, (*rule)->layer_wise(), problems);
  CheckDownlink(job, problems);
  CheckEachPush(job, problems);
}

[[maybe_unused]] const bool registered = RegisterConfigCheck(CheckOptimizer);

}  // namespace
}  // namespace ps
