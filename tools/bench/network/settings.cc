#include "tools/bench/network/settings.h"

#include <algorithm>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/config.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"

namespace ps {
namespace {

constexpr char kGrammar[] =
    "NAME[:RATIO][:VALUE_CODE][:FIELD=VALUE]..., as in \"topk:0.01:fp16\"";

// The parts after the name.
absl::Status ApplyPart(absl::string_view part, bool* has_ratio, bool* has_code,
                       JobConfig* config) {
  if (part.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has nothing behind a colon; must be ", kGrammar));
  }
  if (part.find('=') != absl::string_view::npos) {
    return ApplyOverride(part, config);
  }
  double number = 0;
  const bool is_ratio = absl::SimpleAtod(part, &number);
  bool* const given = is_ratio ? has_ratio : has_code;
  if (*given) {
    return absl::InvalidArgumentError(
        absl::StrCat("has two ", is_ratio ? "ratios" : "value codes",
                     "; must be ", kGrammar));
  }
  *given = true;
  if (is_ratio) {
    config->mutable_compressor()->set_ratio(number);
  } else {
    config->mutable_compressor()->set_value_code(std::string(part));
  }
  return absl::OkStatus();
}

absl::StatusOr<JobConfig> ParseSetting(absl::string_view text,
                                       const JobConfig& base) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  if (parts[0].empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has no compressor; must be ", kGrammar));
  }
  JobConfig config = base;
  config.mutable_compressor()->set_name(parts[0]);
  // Unless it says more, "none" is the exact baseline, not the job's value
  // code.
  if (parts[0] == "none") config.mutable_compressor()->clear_value_code();
  bool has_ratio = false;
  bool has_code = false;
  for (size_t i = 1; i < parts.size(); ++i) {
    PS_RETURN_IF_ERROR(ApplyPart(parts[i], &has_ratio, &has_code, &config));
  }
  PS_RETURN_IF_ERROR(ValidateConfig(config));
  if (has_ratio && !FindCompressor(parts[0]).has_target_ratio) {
    return absl::InvalidArgumentError(
        absl::StrCat("has a ratio, but \"", parts[0],
                     "\" has no target ratio; leave it out"));
  }
  return config;
}

}  // namespace

absl::StatusOr<std::vector<NetworkSetting>> ParseSettings(
    absl::string_view text, const JobConfig& base) {
  std::vector<NetworkSetting> settings;
  for (const absl::string_view each : absl::StrSplit(text, ',')) {
    absl::StatusOr<JobConfig> config = ParseSetting(each, base);
    if (!config.ok()) {
      return Annotate(config.status(), absl::StrCat("\"", each, "\""));
    }
    settings.push_back({std::string(each), *std::move(config)});
  }
  return settings;
}

void SetIterations(int64_t iterations, JobConfig* config) {
  TrainingConfig* const training = config->mutable_training();
  training->set_max_iterations(iterations);
  // An epoch has at least one iteration.
  const int64_t most = std::numeric_limits<int32_t>::max();
  training->set_epochs(static_cast<int32_t>(
      std::max<int64_t>(training->epochs(), std::min(iterations, most))));
  training->set_evaluate_every_epochs(0);
}

}  // namespace ps
