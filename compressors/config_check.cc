// Checks the compressor part of a job, and reports every problem of it.
#include "common/config_check.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compressors/compressor.h"
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

void CheckCompressor(const JobConfig& config, ConfigProblems* problems) {
  const CompressorConfig& compressor = config.compressor();
  CheckName("compressor.name", compressor.name(), CompressorRegistry().Names(),
            problems);
  CheckThat(compressor.ratio() > 0 && compressor.ratio() <= 1,
            "compressor.ratio", compressor.ratio(), "must be in (0, 1]",
            problems);
  CheckName("compressor.index_code", compressor.index_code(), IndexCodeNames(),
            problems);
  CheckName("compressor.value_code", compressor.value_code(), ValueCodeNames(),
            problems);
  CheckValueCodeConfig(compressor.values(), "compressor.values.", problems);
  CheckSidco(compressor.sidco(), problems);
  CheckBaselines(compressor, problems);
}

[[maybe_unused]] const bool registered = RegisterConfigCheck(CheckCompressor);

}  // namespace
}  // namespace ps
