#include "compressors/lgc/config_check.h"

#include <string>

#include "common/config_check.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

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
      if (config.compressor().name() == "lgc") {
        CheckOthers(config.compressor(), "compressor.", problems);
      }
    });

}  // namespace

absl::Status CheckLgcConfig(const CompressorConfig& config,
                            bool shares_positions) {
  ConfigProblems problems;
  if (shares_positions) CheckOthers(config, "", &problems);
  return problems.ToStatus();
}

}  // namespace ps
