// Checks the compressor part of a job, and reports every problem of it.
#include "common/config_check.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compressors/combination_check.h"
#include "compressors/compressor.h"
#include "compressors/new_compressor.h"
#include "compressors/payload.h"

namespace ps {
namespace {

void CheckName(const std::string& field, const std::string& name,
               const std::vector<std::string>& known,
               ConfigProblems* problems) {
  for (const std::string& each : known) {
    if (each == name) return;
  }
  problems->Add(field, absl::StrCat("\"", name, "\""),
                absl::StrCat("known are: ", absl::StrJoin(known, ", ")));
}

template <typename Number>
void CheckThat(bool holds, const std::string& field, Number value,
               const std::string& rule, ConfigProblems* problems) {
  if (!holds) problems->Add(field, absl::StrCat(value), rule);
}

void CheckSidco(const SidcoConfig& sidco, ConfigProblems* problems) {
  const std::string path = "compressor.sidco.";
  CheckThat(sidco.stages() >= 0, path + "stages", sidco.stages(),
            "must be at least 1, or 0 for adaptive", problems);
  CheckThat(!sidco.has_start_stages() || sidco.start_stages() >= 1,
            path + "start_stages", sidco.start_stages(), "must be at least 1",
            problems);
  CheckThat(sidco.adapt_every() >= 1, path + "adapt_every", sidco.adapt_every(),
            "must be at least 1", problems);
  const auto check_fraction = [&](const std::string& field, double value) {
    CheckThat(value > 0 && value < 1, path + field, value, "must be in (0, 1)",
              problems);
  };
  check_fraction("tolerance_low", sidco.tolerance_low());
  check_fraction("tolerance_high", sidco.tolerance_high());
  check_fraction("first_stage_ratio", sidco.first_stage_ratio());
  check_fraction("refine_tolerance", sidco.refine_tolerance());
  CheckThat(sidco.refine_steps() >= 0 && sidco.refine_steps() <= 64,
            path + "refine_steps", sidco.refine_steps(), "must be in [0, 64]",
            problems);
  // Written so that a NaN, too, is a problem.
  CheckThat(sidco.overshoot_cap() == 0 || sidco.overshoot_cap() >= 1,
            path + "overshoot_cap", sidco.overshoot_cap(),
            "must be at least 1, or 0 for none", problems);
  CheckThat(sidco.exact_below() >= 0, path + "exact_below", sidco.exact_below(),
            "must be at least 0", problems);
  CheckThat(sidco.min_exceedances() >= 1, path + "min_exceedances",
            sidco.min_exceedances(), "must be at least 1", problems);
}

// Each is written so that a NaN, too, is a problem.
void CheckBaselines(const CompressorConfig& compressor,
                    ConfigProblems* problems) {
  const double threshold = compressor.threshold().threshold();
  CheckThat(threshold >= 0 && std::isfinite(threshold),
            "compressor.threshold.threshold", threshold,
            "must be finite and at least 0", problems);
  const double step = compressor.redsync().step();
  CheckThat(step > 0 && step < 1, "compressor.redsync.step", step,
            "must be in (0, 1)", problems);
  const int evaluations = compressor.gaussiank().evaluations();
  CheckThat(evaluations >= 1, "compressor.gaussiank.evaluations", evaluations,
            "must be at least 1", problems);
  const DgcConfig& dgc = compressor.dgc();
  CheckThat(dgc.sample_ratio() > 0 && dgc.sample_ratio() <= 1,
            "compressor.dgc.sample_ratio", dgc.sample_ratio(),
            "must be in (0, 1]", problems);
  CheckThat(dgc.overshoot_cap() >= 1, "compressor.dgc.overshoot_cap",
            dgc.overshoot_cap(), "must be at least 1", problems);
}

// What the parts around a compressor ask of the rest of the job.
void CheckJobOfWrappers(const JobConfig& config, ConfigProblems* problems) {
  const CompressorConfig& compressor = config.compressor();
  CheckThat(compressor.momentum_correction().momentum() == 0 ||
                config.optimizer().name() == "sgd",
            "optimizer.name",
            absl::StrCat("\"", config.optimizer().name(), "\""),
            "must be \"sgd\" with compressor.momentum_correction, which is the "
            "momentum",
            problems);
  CheckThat(
      compressor.clip_norm() == 0 || config.training().bucket_megabytes() == 0,
      "training.bucket_megabytes", config.training().bucket_megabytes(),
      "must be 0 with compressor.clip_norm, which needs the norm of the "
      "whole gradient",
      problems);
}

// Votes need a count, and the count needs votes.
void CheckVotes(const JobConfig& config, ConfigProblems* problems) {
  const CompressorConfig& compressor = config.compressor();
  const bool votes = compressor.value_code() == "sign" &&
                     compressor.values().sign_scale() == ValueCodeConfig::ONE;
  if (config.optimizer().majority_vote() && !votes) {
    problems->Add("optimizer.majority_vote", "true",
                  "needs votes: compressor.value_code \"sign\" with "
                  "compressor.values.sign_scale ONE");
  }
  if (votes && !config.optimizer().majority_vote()) {
    problems->Add("compressor.values.sign_scale", "ONE",
                  "needs optimizer.majority_vote");
  }
}

void CheckCompressor(const JobConfig& config, ConfigProblems* problems) {
  const CompressorConfig& compressor = config.compressor();
  CheckName("compressor.name", compressor.name(), CompressorRegistry().Names(),
            problems);
  CheckThat(compressor.ratio() > 0 && compressor.ratio() <= 1,
            "compressor.ratio", compressor.ratio(), "must be in (0, 1]",
            problems);
  CheckName("compressor.index_code", compressor.index_code(), IndexCodeNames(),
            problems);
  const size_t before = problems->lines().size();
  CheckName("compressor.value_code", compressor.value_code(), ValueCodeNames(),
            problems);
  CheckValueCodeConfig(compressor.values(), "compressor.values.", problems);
  if (problems->lines().size() == before) {
    CheckOwnCode(compressor, "compressor.", problems);
    if (!WritesOwnCode(compressor.name())) {
      CheckCombination(compressor, "compressor.", problems);
    }
    CheckVotes(config, problems);
  }
  CheckSidco(compressor.sidco(), problems);
  CheckBaselines(compressor, problems);
  CheckWrappers(compressor, "compressor.", problems);
  CheckJobOfWrappers(config, problems);
}

[[maybe_unused]] const bool registered = RegisterConfigCheck(CheckCompressor);

}  // namespace
}  // namespace ps
