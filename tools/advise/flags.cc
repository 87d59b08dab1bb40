#include "tools/advise/flags.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/consistency.h"
#include "common/status_macros.h"
#include "tools/advise/candidates.h"
#include "tools/bench/network/bandwidth.h"
#include "tools/command_line/options.h"

namespace ps {
namespace {

constexpr double kMostSeconds = 3600;
constexpr int64_t kMostTurns = 100;
// Of cluster.num_workers and cluster.num_servers.
constexpr int kMostWorkers = 1024;
constexpr int kMostServers = 256;
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

// One for each bandwidth of the list; none for an empty list.
absl::StatusOr<std::vector<JobNetwork>> ParseNetworks(
    const std::string& bandwidths, int64_t burst_bytes) {
  PS_RETURN_IF_ERROR(
      CheckOptionRanges({{"burst", burst_bytes, 0, kMostBurstBytes}}));
  std::vector<JobNetwork> networks;
  if (bandwidths.empty()) return networks;
  const absl::StatusOr<std::vector<int64_t>> parsed =
      ParseBandwidths(bandwidths);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--bandwidth is ", parsed.status().message()));
  }
  for (const int64_t bits_per_second : *parsed) {
    JobNetwork network;
    network.bits_per_second = static_cast<double>(bits_per_second);
    network.burst_bytes = static_cast<double>(burst_bytes);
    networks.push_back(network);
  }
  return networks;
}

absl::StatusOr<JobNetwork> ParseNetwork(const AdviseFlags& flags,
                                        const std::string& remote) {
  PS_ASSIGN_OR_RETURN(const std::vector<JobNetwork> networks,
                      ParseNetworks(flags.bandwidth, flags.burst_bytes));
  if (networks.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--bandwidth is \"", flags.bandwidth,
        "\"; must be one bandwidth, and `gradsieve plan` takes several"));
  }
  if (!networks.empty()) return networks.front();
  if (!remote.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cluster.servers has \"", remote,
        "\", and the network to another machine cannot be measured before "
        "servers run there; give its speed with --bandwidth, as in "
        "--bandwidth=100mbit"));
  }
  JobNetwork network;
  network.burst_bytes = static_cast<double>(flags.burst_bytes);
  return network;
}

absl::Status CheckSeconds(double seconds) {
  // Also false for NaN.
  if (seconds >= 0 && seconds <= kMostSeconds) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--seconds is ", seconds, "; must be 0 to ", kMostSeconds));
}

absl::StatusOr<std::vector<NetworkSetting>> ParseSynchronousSettings(
    const std::string& text, const JobConfig& job) {
  absl::StatusOr<std::vector<NetworkSetting>> settings =
      text.empty() ? CandidateSettings(job) : ParseSettings(text, job);
  if (!settings.ok()) return Annotate(settings.status(), "--settings");
  for (const NetworkSetting& setting : *settings) {
    if (!WorkersDrift(setting.config)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "setting \"", setting.name,
        "\" does not wait for all workers in every update; must have "
        "consistency.mode SYNCHRONOUS and step_timeout_seconds 0"));
  }
  return settings;
}

// Sorted, each once.
absl::StatusOr<std::vector<int>> ParseCounts(const char* option,
                                             const std::string& text, int most,
                                             int otherwise) {
  if (text.empty()) return std::vector<int>{otherwise};
  std::vector<int> counts;
  for (const absl::string_view entry : absl::StrSplit(text, ',')) {
    int count = 0;
    if (!absl::SimpleAtoi(entry, &count) || count < 1 || count > most) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", option, " has \"", entry,
                       "\"; must be whole numbers from 1 to ", most,
                       ", separated by commas"));
    }
    counts.push_back(count);
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

}  // namespace

absl::StatusOr<AdviseOptions> ParseAdviseFlags(const AdviseFlags& flags,
                                               const JobConfig& job) {
  AdviseOptions options;
  options.worker_command = flags.command;
  const std::string remote = RemoteServer(job.cluster());
  PS_ASSIGN_OR_RETURN(options.network, ParseNetwork(flags, remote));
  const int num_workers = job.cluster().num_workers();
  options.workers_here = remote.empty() ? num_workers : 1;
  if (flags.workers_here != 0) {
    PS_RETURN_IF_ERROR(CheckOptionRanges(
        {{"workers-here", flags.workers_here, 1, num_workers}}));
    options.workers_here = static_cast<int>(flags.workers_here);
  }
  PS_RETURN_IF_ERROR(CheckSeconds(flags.seconds));
  options.seconds = flags.seconds;
  PS_RETURN_IF_ERROR(
      CheckOptionRanges({{"turns", flags.turns, 1, kMostTurns}}));
  options.turns = static_cast<int>(flags.turns);
  PS_ASSIGN_OR_RETURN(options.settings,
                      ParseSynchronousSettings(flags.settings, job));
  return options;
}

absl::StatusOr<PlanOptions> ParsePlanFlags(const PlanFlags& flags,
                                           const JobConfig& job) {
  PlanOptions options;
  PS_ASSIGN_OR_RETURN(options.workers,
                      ParseCounts("workers", flags.workers, kMostWorkers,
                                  job.cluster().num_workers()));
  PS_ASSIGN_OR_RETURN(options.servers,
                      ParseCounts("servers", flags.servers, kMostServers,
                                  job.cluster().num_servers()));
  PS_ASSIGN_OR_RETURN(options.networks,
                      ParseNetworks(flags.bandwidth, flags.burst_bytes));
  PS_RETURN_IF_ERROR(CheckSeconds(flags.seconds));
  options.seconds = flags.seconds;
  options.one_machine = flags.one_machine;
  PS_ASSIGN_OR_RETURN(options.settings,
                      ParseSynchronousSettings(flags.settings, job));
  return options;
}

}  // namespace ps
