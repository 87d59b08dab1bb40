#include "compressors/lgc/config_check.h"

#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config_check.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

void CheckNumber(int64_t value, int64_t least, int64_t most,
                 const std::string& field, ConfigProblems* problems) {
  problems->CheckThat(value >= least && value <= most, field, value,
                      most == std::numeric_limits<int64_t>::max()
                          ? absl::StrCat("must be at least ", least)
                          : absl::StrCat("must be ", least, " to ", most));
}

void CheckFields(const LgcConfig& config, const std::string& path,
                 ConfigProblems* problems) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  CheckNumber(config.train_iterations(), 1, kAny, path + "train_iterations",
              problems);
  CheckNumber(config.retry_every(), 1, kAny, path + "retry_every", problems);
  CheckNumber(config.check_every(), 2, kAny, path + "check_every", problems);
  CheckNumber(config.passes(), 1, 100, path + "passes", problems);
  CheckNumber(config.min_values(), 16, kAny, path + "min_values", problems);
  // This form of the condition reports NaN too.
  problems->CheckThat(config.innovation() >= 0 && config.innovation() <= 0.2,
                      path + "innovation", config.innovation(),
                      "must be 0 to 0.2");
  problems->CheckThat(config.gate_error() > 0, path + "gate_error",
                      config.gate_error(), "must be above 0");
  problems->CheckThat(config.gate_gain() > 0, path + "gate_gain",
                      config.gate_gain(), "must be above 0");
  problems->CheckThat(config.check_error() > 0, path + "check_error",
                      config.check_error(), "must be above 0");
  problems->CheckThat(config.learning_rate() > 0 && config.learning_rate() <= 1,
                      path + "learning_rate", config.learning_rate(),
                      "must be above 0 and at most 1");
}

void CheckOthers(const CompressorConfig& config, const std::string& path,
                 ConfigProblems* problems) {
  const std::string why = " with compressor \"lgc\"";
  problems->CheckThat(config.value_code() == "fp32", path + "value_code",
                      config.value_code(), "must be fp32" + why);
  problems->CheckThat(
      config.momentum_correction().momentum() == 0,
      path + "momentum_correction.momentum",
      config.momentum_correction().momentum(),
      "must be 0" + why + ", which changes what a momentum is made of");
  problems->CheckThat(
      config.warmup().stages() == 0 ||
          config.warmup().rule() == WarmupConfig::DENSE,
      path + "warmup.rule", WarmupConfig::Rule_Name(config.warmup().rule()),
      "must be DENSE" + why + ": each new ratio would forget the encoder");
}

[[maybe_unused]] const bool check_registered =
    RegisterConfigCheck([](const JobConfig& config, ConfigProblems* problems) {
      CheckFields(config.compressor().lgc(), "compressor.lgc.", problems);
      if (config.compressor().name() == "lgc") {
        CheckOthers(config.compressor(), "compressor.", problems);
      }
    });

}  // namespace

absl::Status CheckLgcConfig(const CompressorConfig& config,
                            bool shares_positions) {
  ConfigProblems problems;
  CheckFields(config.lgc(), "lgc.", &problems);
  if (shares_positions) CheckOthers(config, "", &problems);
  if (problems.lines().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(problems.lines(), "; "));
}

}  // namespace ps
