#include "compressors/selectors/selector_options_check.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace ps {
namespace {

// The most stages, each of which may take a pass over the vector.
constexpr int kMaxStages = 64;
constexpr int kMaxEvaluations = 1000;

void CheckSidco(const SidcoConfig& sidco, const std::string& path,
                ConfigProblems* problems) {
  problems->CheckThat(
      sidco.stages() >= 0 && sidco.stages() <= kMaxStages, path + "stages",
      sidco.stages(),
      absl::StrCat("must be 1 to ", kMaxStages, ", or 0 for adaptive"));
  problems->CheckThat(!sidco.has_start_stages() || sidco.start_stages() >= 1,
                      path + "start_stages", sidco.start_stages(),
                      "must be at least 1");
  problems->CheckThat(sidco.adapt_every() >= 1, path + "adapt_every",
                      sidco.adapt_every(), "must be at least 1");
  const auto check_fraction = [&](const std::string& field, double value) {
    problems->CheckThat(value > 0 && value < 1, path + field, value,
                        "must be in (0, 1)");
  };
  check_fraction("tolerance_low", sidco.tolerance_low());
  check_fraction("tolerance_high", sidco.tolerance_high());
  check_fraction("first_stage_ratio", sidco.first_stage_ratio());
  check_fraction("refine_tolerance", sidco.refine_tolerance());
  problems->CheckThat(sidco.refine_steps() >= 0 && sidco.refine_steps() <= 64,
                      path + "refine_steps", sidco.refine_steps(),
                      "must be in [0, 64]");
  // This form of the condition reports NaN too.
  problems->CheckThat(sidco.overshoot_cap() == 0 || sidco.overshoot_cap() >= 1,
                      path + "overshoot_cap", sidco.overshoot_cap(),
                      "must be at least 1, or 0 for none");
  problems->CheckThat(sidco.exact_below() >= 0, path + "exact_below",
                      sidco.exact_below(), "must be at least 0");
  problems->CheckThat(sidco.min_exceedances() >= 1, path + "min_exceedances",
                      sidco.min_exceedances(), "must be at least 1");
}

// Checks the baselines' options, in a form that reports NaN too.
void CheckBaselines(const CompressorConfig& compressor, const std::string& path,
                    ConfigProblems* problems) {
  const double threshold = compressor.threshold().threshold();
  problems->CheckThat(threshold >= 0 && std::isfinite(threshold),
                      path + "threshold.threshold", threshold,
                      "must be finite and at least 0");
  const double step = compressor.redsync().step();
  // A search in steps below the resolution of a float would never end.
  problems->CheckThat(step >= 1e-6 && step < 1, path + "redsync.step", step,
                      "must be in [1e-6, 1)");
  const int evaluations = compressor.gaussiank().evaluations();
  problems->CheckThat(evaluations >= 1 && evaluations <= kMaxEvaluations,
                      path + "gaussiank.evaluations", evaluations,
                      absl::StrCat("must be 1 to ", kMaxEvaluations));
  const DgcConfig& dgc = compressor.dgc();
  problems->CheckThat(dgc.sample_ratio() > 0 && dgc.sample_ratio() <= 1,
                      path + "dgc.sample_ratio", dgc.sample_ratio(),
                      "must be in (0, 1]");
  problems->CheckThat(dgc.overshoot_cap() >= 1, path + "dgc.overshoot_cap",
                      dgc.overshoot_cap(), "must be at least 1");
}

}  // namespace

void CheckSelectorOptions(const CompressorConfig& config,
                          const std::string& path, ConfigProblems* problems) {
  CheckSidco(config.sidco(), path + "sidco.", problems);
  CheckBaselines(config, path, problems);
}

}  // namespace ps
