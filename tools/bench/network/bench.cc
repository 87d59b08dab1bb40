#include "tools/bench/network/bench.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/consistency.h"
#include "common/run_directory.h"
#include "common/status_macros.h"
#include "tools/bench/network/bandwidth.h"
#include "tools/bench/network/bandwidth_probe.h"
#include "tools/bench/network/bandwidth_stages.h"
#include "tools/bench/network/slow_network.h"
#include "tools/command_line/commands.h"
#include "tools/process/signals.h"

namespace ps {
namespace {

// "01-topk_0.01" for the first setting if it is "topk:0.01".
std::string FolderName(size_t number, const std::string& setting) {
  std::string name = absl::StrFormat("%02d-%s", number + 1, setting);
  for (char& c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       c == '.' || c == '-';
    if (!plain) c = '_';
  }
  return name;
}

// Sum over all hosts: each byte leaves one of them.
absl::StatusOr<int64_t> SentBytes(const SlowNetwork& network) {
  PS_ASSIGN_OR_RETURN(const std::vector<LinkTraffic> traffic,
                      network.ReadTraffic());
  int64_t bytes = 0;
  for (const LinkTraffic& link : traffic) bytes += link.sent_bytes;
  return bytes;
}

class NetworkBench {
 public:
  explicit NetworkBench(const NetworkBenchOptions& options)
      : options_(options) {
    for (const NetworkSetting& setting : options.settings) {
      const ClusterConfig& cluster = setting.config.cluster();
      num_workers_ = std::max(num_workers_, cluster.num_workers());
      num_servers_ = std::max(num_servers_, cluster.num_servers());
    }
  }

  NetworkBenchResult Run();

 private:
  // Makes the network and all runs. An error here ends the bench.
  absl::Status RunAll();
  absl::Status MakeNetwork();
  // Measures the links at the current bandwidth.
  absl::Status MeasureLinks(NetworkComparison* comparison);
  absl::Status RunSetting(size_t number);
  // Changes the links' bandwidth when it is due. Returns true when the run may
  // end.
  absl::StatusOr<bool> LookAt(const std::string& run_directory);
  // Reads the records of a run and checks them against the traffic of the
  // links.
  absl::Status TakeRecords(const NetworkSetting& setting, ComparedRun* run);
  // Adds a run to all comparisons, each with the times at its bandwidth.
  void AddRun(const ComparedRun& run);
  LocalClusterOptions ClusterOf(const NetworkSetting& setting,
                                const std::string& run_directory);
  ClusterHost Host(int number) const;
  absl::Status Interrupted() const {
    return absl::CancelledError("interrupted; everything is stopped");
  }

  const NetworkBenchOptions options_;
  // The largest numbers of any setting. Worker r is host r, and server i is
  // host num_workers_ + i.
  int num_workers_ = 0;
  int num_servers_ = 0;
  std::unique_ptr<Interrupts> interrupts_;
  std::unique_ptr<SlowNetwork> network_;
  std::vector<NetworkComparison> comparisons_;  // By bandwidth.
  // State of the current run.
  std::optional<BandwidthStages> stages_;
  absl::Status links_;  // An error if the links could not be changed.
};

absl::Status NetworkBench::MakeNetwork() {
  SlowNetworkOptions options;
  options.num_hosts = num_workers_ + num_servers_;
  options.bits_per_second = options_.bits_per_second.front();
  PS_ASSIGN_OR_RETURN(network_, SlowNetwork::Create(options));
  for (NetworkComparison& comparison : comparisons_) {
    for (int i = 0; i < options.num_hosts; ++i) {
      ComparedHost host;
      host.name = i < num_workers_ ? absl::StrCat("worker-", i)
                                   : absl::StrCat("server-", i - num_workers_);
      host.address = SlowNetwork::Address(i);
      host.network_namespace = network_->host(i).id();
      comparison.hosts.push_back(host);
    }
    PS_RETURN_IF_ERROR(network_->SetBandwidth(comparison.bits_per_second));
    PS_RETURN_IF_ERROR(
        Annotate(MeasureLinks(&comparison), "measuring the network"));
  }
  return absl::OkStatus();
}

absl::Status NetworkBench::MeasureLinks(NetworkComparison* comparison) {
  const int worker = 0;
  const int server = num_workers_;
  PS_ASSIGN_OR_RETURN(comparison->measured_up,
                      MeasureBandwidth(*network_, worker, server));
  PS_ASSIGN_OR_RETURN(comparison->measured_down,
                      MeasureBandwidth(*network_, server, worker));
  PrintNow(absl::StrFormat(
      "%d hosts, %s requested; measured %s up, %s down\n",
      network_->num_hosts(),
      FormatBandwidth(static_cast<double>(comparison->bits_per_second)),
      FormatBandwidth(comparison->measured_up),
      FormatBandwidth(comparison->measured_down)));
  return absl::OkStatus();
}

ClusterHost NetworkBench::Host(int number) const {
  ClusterHost host;
  host.address = SlowNetwork::Address(number);
  host.network_namespace = network_->host(number).fd();
  return host;
}

absl::StatusOr<bool> NetworkBench::LookAt(const std::string& run_directory) {
  const absl::StatusOr<RunRecords> records = ReadRunRecords(run_directory);
  // None yet, or reported after the run.
  if (!records.ok() || records->iterations.empty()) return false;
  const auto pushes = static_cast<int64_t>(records->iterations.size());
  if (const std::optional<int64_t> due = stages_->Due(pushes)) {
    PS_RETURN_IF_ERROR(network_->SetBandwidth(
        *due == BandwidthStages::kNoLimit ? std::nullopt : due));
    stages_->Set(pushes);
  }
  const bool timed = options_.timed_iterations == 0 || stages_->all_timed();
  if (options_.stop_at_target && timed &&
      MeasureRun(*records, options_.measure).target.has_value()) {
    return true;
  }
  return !options_.evaluate &&
         records->iterations.back().iteration >= records->total_iterations;
}

LocalClusterOptions NetworkBench::ClusterOf(const NetworkSetting& setting,
                                            const std::string& run_directory) {
  LocalClusterOptions cluster;
  cluster.config = setting.config;
  cluster.run_directory = run_directory;
  for (int rank = 0; rank < setting.config.cluster().num_workers(); ++rank) {
    cluster.worker_hosts.push_back(Host(rank));
  }
  for (int i = 0; i < setting.config.cluster().num_servers(); ++i) {
    cluster.server_hosts.push_back(Host(num_workers_ + i));
  }
  // The run's logs have it.
  cluster.show_log = false;
  cluster.interrupts = interrupts_.get();
  cluster.is_enough = [this, run_directory](const auto& /*processes*/) {
    const absl::StatusOr<bool> enough = LookAt(run_directory);
    links_.Update(enough.status());
    return !enough.ok() || *enough;
  };
  return cluster;
}

absl::Status NetworkBench::TakeRecords(const NetworkSetting& setting,
                                       ComparedRun* run) {
  PS_RETURN_IF_ERROR(links_);
  PS_ASSIGN_OR_RETURN(run->records, ReadRunRecords(run->run_directory));
  // The run may have been evaluated before it was stopped, although this was
  // not requested.
  if (!options_.evaluate) run->records.evaluations.clear();
  for (size_t i = 0; i < comparisons_.size(); ++i) {
    if (options_.timed_iterations == 0) break;
    const auto pushes = static_cast<int64_t>(run->records.iterations.size());
    const PushRange timed = stages_->Timed(i);
    if (timed.begin < timed.end && timed.end <= pushes) continue;
    return absl::InternalError(absl::StrCat(
        "its ", pushes, " pushes were over before ", options_.timed_iterations,
        " of them were timed at ",
        FormatBandwidth(static_cast<double>(options_.bits_per_second[i])),
        "; give it more with --iterations"));
  }
  return CheckLinkBytes(run->records, run->link_bytes,
                        WorkersDrift(setting.config));
}

void NetworkBench::AddRun(const ComparedRun& run) {
  for (size_t i = 0; i < comparisons_.size(); ++i) {
    ComparedRun timed = run;
    timed.measures =
        MeasureRun(run.records, options_.measure, stages_->Timed(i));
    if (options_.timed_iterations > 0) {
      SetSecondsPerIteration(timed.measures.mean, &timed.records);
      timed.measures.target = FindTarget(timed.records, options_.measure);
    }
    comparisons_[i].runs.push_back(std::move(timed));
  }
}

absl::Status NetworkBench::RunSetting(size_t number) {
  const NetworkSetting& setting = options_.settings[number];
  ComparedRun run;
  run.setting = setting.name;
  run.run_directory = absl::StrCat(options_.run_directory, "/",
                                   FolderName(number, setting.name));
  PrintNow(absl::StrFormat("\n[%d/%d] %s\n", number + 1,
                           options_.settings.size(), setting.name));
  PS_RETURN_IF_ERROR(MakeRunDirectory(run.run_directory));
  PS_RETURN_IF_ERROR(network_->SetBandwidth(options_.bits_per_second.front()));
  stages_.emplace(options_.bits_per_second, options_.measure.warm_up,
                  options_.timed_iterations);
  links_ = absl::OkStatus();
  PS_ASSIGN_OR_RETURN(const int64_t before, SentBytes(*network_));
  const absl::Status trained =
      RunLocalCluster(ClusterOf(setting, run.run_directory));
  PS_ASSIGN_OR_RETURN(const int64_t after, SentBytes(*network_));
  run.link_bytes = after - before;
  const absl::Status recorded = TakeRecords(setting, &run);
  if (absl::IsCancelled(trained)) {
    run.failure = "interrupted";
    // Without an iteration there is nothing to show.
    if (!run.records.iterations.empty()) AddRun(run);
    return Interrupted();
  }
  if (!trained.ok() || !recorded.ok()) {
    run.failure = std::string((!trained.ok() ? trained : recorded).message());
    std::printf("failed: %s\n", run.failure.c_str());
  }
  AddRun(run);
  return absl::OkStatus();
}

absl::Status NetworkBench::RunAll() {
  PS_ASSIGN_OR_RETURN(interrupts_, Interrupts::Create());
  PS_RETURN_IF_ERROR(MakeNetwork());
  for (size_t i = 0; i < options_.settings.size(); ++i) {
    if (interrupts_->Take() > 0) return Interrupted();
    PS_RETURN_IF_ERROR(RunSetting(i));
  }
  return absl::OkStatus();
}

NetworkBenchResult NetworkBench::Run() {
  for (const int64_t bits_per_second : options_.bits_per_second) {
    NetworkComparison comparison;
    comparison.job = options_.job;
    comparison.bits_per_second = bits_per_second;
    comparison.options = options_.measure;
    comparison.timed_iterations = options_.timed_iterations;
    comparisons_.push_back(std::move(comparison));
  }
  NetworkBenchResult result;
  result.status = RunAll();
  result.comparisons = std::move(comparisons_);
  return result;
}

}  // namespace

NetworkBenchResult RunNetworkBench(const NetworkBenchOptions& options) {
  return NetworkBench(options).Run();
}

}  // namespace ps
