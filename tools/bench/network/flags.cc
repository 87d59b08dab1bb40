#include "tools/bench/network/flags.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/consistency.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "tools/bench/network/bandwidth.h"
#include "tools/bench/network/settings.h"

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
  PS_RETURN_IF_ERROR(AtLeast("timed-iterations", flags.timed_iterations, 0));
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

// Checks the requirements of --timed-iterations.
absl::Status CheckTimed(const NetworkBenchFlags& flags,
                        const NetworkBenchOptions& options) {
  const auto bandwidths = static_cast<int64_t>(options.bits_per_second.size());
  if (flags.timed_iterations == 0) {
    if (bandwidths == 1) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "--bandwidth is ", flags.bandwidth, ", ", bandwidths,
        " bandwidths; more than one needs --timed-iterations, the iterations "
        "that are timed at each"));
  }
  PS_RETURN_IF_ERROR(
      AtLeast("warm-up (with --timed-iterations)", flags.warm_up, 1));
  const int64_t needed = bandwidths * (flags.warm_up + flags.timed_iterations);
  if (flags.iterations < needed) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--iterations is ", flags.iterations, "; must be at least ", needed,
        ", for each bandwidth --warm-up and --timed-iterations"));
  }
  for (const NetworkSetting& setting : options.settings) {
    if (!WorkersDrift(setting.config) &&
        !FindCompressor(setting.config.compressor().name()).chooses_by_time) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "--timed-iterations times some iterations and takes the loss of all, "
        "but what setting ",
        setting.name,
        " learns depends on the time; leave it out, or the option"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NetworkBenchOptions> ParseNetworkBenchFlags(
    const NetworkBenchFlags& flags, const JobConfig& job) {
  NetworkBenchOptions options;
  options.job = job.name();
  const absl::StatusOr<std::vector<int64_t>> bandwidths =
      ParseBandwidths(flags.bandwidth);
  if (!bandwidths.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--bandwidth is ", bandwidths.status().message()));
  }
  options.bits_per_second = *bandwidths;
  options.timed_iterations = flags.timed_iterations;
  PS_RETURN_IF_ERROR(CheckNumbers(flags));
  PS_ASSIGN_OR_RETURN(options.measure.target_loss,
                      ParseTargetLoss(flags.target_loss));
  options.measure.warm_up = flags.warm_up;
  options.measure.smoothing = flags.smoothing;
  options.stop_at_target = flags.stop_at_target;
  options.evaluate = flags.evaluate;
  JobConfig base = job;
  SetIterations(flags.iterations, &base);
  const absl::StatusOr<std::vector<NetworkSetting>> settings =
      ParseSettings(flags.settings, base);
  if (!settings.ok()) return Annotate(settings.status(), "--settings");
  options.settings = *settings;
  PS_RETURN_IF_ERROR(CheckTimed(flags, options));
  options.run_directory = flags.run_dir;
  return options;
}

}  // namespace ps
