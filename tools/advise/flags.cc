#include "tools/advise/flags.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/consistency.h"
#include "common/status_macros.h"
#include "tools/advise/candidates.h"
#include "tools/bench/network/bandwidth.h"
#include "tools/command_line/options.h"

namespace ps {
namespace {

constexpr double kMostSeconds = 3600;
constexpr int64_t kMostTurns = 100;
constexpr int64_t kMostBurstBytes = int64_t{1} << 40;

// The first server on another machine; empty if there is none.
std::string RemoteServer(const ClusterConfig& cluster) {
  for (const std::string& server : cluster.servers()) {
    const bool here = absl::StartsWith(server, "localhost:") ||
                      absl::StartsWith(server, "127.") ||
                      absl::StartsWith(server, "[::1]:");
    if (!here) return server;
  }
  return "";
}

absl::StatusOr<JobNetwork> ParseNetwork(const AdviseFlags& flags,
                                        const std::string& remote) {
  JobNetwork network;
  PS_RETURN_IF_ERROR(
      CheckOptionRanges({{"burst", flags.burst_bytes, 0, kMostBurstBytes}}));
  network.burst_bytes = static_cast<double>(flags.burst_bytes);
  if (!flags.bandwidth.empty()) {
    const absl::StatusOr<int64_t> bandwidth = ParseBandwidth(flags.bandwidth);
    if (!bandwidth.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--bandwidth is ", bandwidth.status().message()));
    }
    network.bits_per_second = static_cast<double>(*bandwidth);
    return network;
  }
  if (!remote.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cluster.servers has \"", remote,
        "\", and the network to another machine cannot be measured before "
        "servers run there; give its speed with --bandwidth, as in "
        "--bandwidth=100mbit"));
  }
  return network;
}

}  // namespace

absl::StatusOr<AdviseOptions> ParseAdviseFlags(const AdviseFlags& flags,
                                               const JobConfig& job) {
  AdviseOptions options;
  const std::string remote = RemoteServer(job.cluster());
  PS_ASSIGN_OR_RETURN(options.network, ParseNetwork(flags, remote));
  const int num_workers = job.cluster().num_workers();
  options.workers_here = remote.empty() ? num_workers : 1;
  if (flags.workers_here != 0) {
    PS_RETURN_IF_ERROR(CheckOptionRanges(
        {{"workers-here", flags.workers_here, 1, num_workers}}));
    options.workers_here = static_cast<int>(flags.workers_here);
  }
  // Also false for NaN.
  if (!(flags.seconds >= 0 && flags.seconds <= kMostSeconds)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--seconds is ", flags.seconds, "; must be 0 to ", kMostSeconds));
  }
  options.seconds = flags.seconds;
  PS_RETURN_IF_ERROR(
      CheckOptionRanges({{"turns", flags.turns, 1, kMostTurns}}));
  options.turns = static_cast<int>(flags.turns);
  const absl::StatusOr<std::vector<NetworkSetting>> settings =
      flags.settings.empty() ? CandidateSettings(job)
                             : ParseSettings(flags.settings, job);
  if (!settings.ok()) return Annotate(settings.status(), "--settings");
  options.settings = *settings;
  for (const NetworkSetting& setting : options.settings) {
    if (!WorkersDrift(setting.config)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "setting \"", setting.name,
        "\" does not wait for all workers in every update; must have "
        "consistency.mode SYNCHRONOUS and step_timeout_seconds 0"));
  }
  return options;
}

}  // namespace ps
