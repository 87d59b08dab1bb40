#include "tools/network/flags.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tools/network/bandwidth.h"
#include "tools/network/settings.h"
#include "tools/run_directory.h"

namespace ps {
namespace {

absl::Status AtLeast(const char* option, int64_t value, int64_t least) {
  if (value >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", option, " is ", value, "; must be at least ", least));
}

absl::Status CheckNumbers(const NetworkBenchFlags& flags) {
  PS_RETURN_IF_ERROR(AtLeast("warm-up", flags.warm_up, 0));
  PS_RETURN_IF_ERROR(AtLeast("smoothing", flags.smoothing, 1));
  if (flags.iterations <= flags.warm_up) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--iterations is ", flags.iterations,
        "; must be more than --warm-up, which is ", flags.warm_up));
  }
  if (flags.stop_at_target && flags.target_loss.empty()) {
    return absl::InvalidArgumentError(
        "--stop-at-target needs --target-loss, the loss at which a run ends");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<double>> ParseTargetLoss(const std::string& text) {
  if (text.empty()) return std::optional<double>();
  double loss = 0;
  if (!absl::SimpleAtod(text, &loss) || !std::isfinite(loss)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--target-loss is \"", text, "\"; must be a finite number"));
  }
  return std::optional<double>(loss);
}

// The job as every setting starts from it.
void PrepareJob(int64_t iterations, JobConfig* config) {
  TrainingConfig* const training = config->mutable_training();
  training->set_max_iterations(iterations);
  // An epoch has one iteration at least. Only after the last one there is an
  // evaluation.
  const int64_t most = std::numeric_limits<int32_t>::max();
  training->set_epochs(static_cast<int32_t>(
      std::max<int64_t>(training->epochs(), std::min(iterations, most))));
  training->set_evaluate_every_epochs(0);
}

}  // namespace

absl::StatusOr<NetworkBenchOptions> ParseNetworkBenchFlags(
    const NetworkBenchFlags& flags, const JobConfig& job) {
  NetworkBenchOptions options;
  options.job = job.name();
  const absl::StatusOr<int64_t> bandwidth = ParseBandwidth(flags.bandwidth);
  if (!bandwidth.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--bandwidth is ", bandwidth.status().message()));
  }
  options.bits_per_second = *bandwidth;
  PS_RETURN_IF_ERROR(CheckNumbers(flags));
  PS_ASSIGN_OR_RETURN(options.measure.target_loss,
                      ParseTargetLoss(flags.target_loss));
  options.measure.warm_up = flags.warm_up;
  options.measure.smoothing = flags.smoothing;
  options.stop_at_target = flags.stop_at_target;
  options.evaluate = flags.evaluate;
  JobConfig base = job;
  PrepareJob(flags.iterations, &base);
  const absl::StatusOr<std::vector<NetworkSetting>> settings =
      ParseSettings(flags.settings, base);
  if (!settings.ok()) return Annotate(settings.status(), "--settings");
  options.settings = *settings;
  options.run_directory =
      flags.run_dir.empty()
          ? DefaultRunDirectory(absl::StrCat("network-", job.name()))
          : flags.run_dir;
  return options;
}

}  // namespace ps
