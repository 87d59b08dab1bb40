#include "tools/network/bench.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/consistency.h"
#include "common/status_macros.h"
#include "tools/interrupts.h"
#include "tools/network/bandwidth.h"
#include "tools/network/bandwidth_probe.h"
#include "tools/network/slow_network.h"
#include "tools/run_directory.h"

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

// Of all hosts together: each byte leaves one of them.
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
  // All of it; what fails here ends the bench.
  absl::Status RunAll();
  absl::Status MakeNetwork();
  absl::Status MeasureLinks();
  absl::Status RunSetting(size_t number);
  // Sets what a run has recorded, and checks it against what went over the
  // links.
  absl::Status TakeRecords(const NetworkSetting& setting, ComparedRun* run);
  LocalClusterOptions ClusterOf(const NetworkSetting& setting,
                                const std::string& run_directory) const;
  ClusterHost Host(int number) const;
  bool IsEnough(const RunRecords& records) const;
  absl::Status Interrupted() const {
    return absl::CancelledError("interrupted; everything is stopped");
  }

  const NetworkBenchOptions options_;
  // The most that a setting has. Worker r is host r, and server i is host
  // num_workers_ + i.
  int num_workers_ = 0;
  int num_servers_ = 0;
  std::unique_ptr<Interrupts> interrupts_;
  std::unique_ptr<SlowNetwork> network_;
  NetworkComparison comparison_;
};

absl::Status NetworkBench::MakeNetwork() {
  SlowNetworkOptions options;
  options.num_hosts = num_workers_ + num_servers_;
  options.bits_per_second = options_.bits_per_second;
  PS_ASSIGN_OR_RETURN(network_, SlowNetwork::Create(options));
  for (int i = 0; i < options.num_hosts; ++i) {
    ComparedHost host;
    host.name = i < num_workers_ ? absl::StrCat("worker-", i)
                                 : absl::StrCat("server-", i - num_workers_);
    host.address = SlowNetwork::Address(i);
    host.network_namespace = network_->host(i).id();
    comparison_.hosts.push_back(host);
  }
  return absl::OkStatus();
}

absl::Status NetworkBench::MeasureLinks() {
  const int worker = 0;
  const int server = num_workers_;
  PS_ASSIGN_OR_RETURN(comparison_.measured_up,
                      MeasureBandwidth(*network_, worker, server));
  PS_ASSIGN_OR_RETURN(comparison_.measured_down,
                      MeasureBandwidth(*network_, server, worker));
  absl::PrintF("%d hosts, %s asked for; measured %s up, %s down\n",
               network_->num_hosts(),
               FormatBandwidth(static_cast<double>(options_.bits_per_second)),
               FormatBandwidth(comparison_.measured_up),
               FormatBandwidth(comparison_.measured_down));
  std::fflush(stdout);
  return absl::OkStatus();
}

ClusterHost NetworkBench::Host(int number) const {
  ClusterHost host;
  host.address = SlowNetwork::Address(number);
  host.network_namespace = network_->host(number).fd();
  return host;
}

bool NetworkBench::IsEnough(const RunRecords& records) const {
  if (options_.stop_at_target &&
      MeasureRun(records, options_.measure).target.has_value()) {
    return true;
  }
  return !options_.evaluate && static_cast<double>(records.iterations.size()) >=
                                   records.total_iterations;
}

LocalClusterOptions NetworkBench::ClusterOf(
    const NetworkSetting& setting, const std::string& run_directory) const {
  LocalClusterOptions cluster;
  cluster.config = setting.config;
  cluster.run_directory = run_directory;
  cluster.server_program = options_.server_program;
  cluster.worker_program = options_.worker_program;
  for (int rank = 0; rank < setting.config.cluster().num_workers(); ++rank) {
    cluster.worker_hosts.push_back(Host(rank));
  }
  for (int i = 0; i < setting.config.cluster().num_servers(); ++i) {
    cluster.server_hosts.push_back(Host(num_workers_ + i));
  }
  // It is in the run's logs.
  cluster.show_log = false;
  cluster.interrupts = interrupts_.get();
  cluster.is_enough = [this, run_directory] {
    const absl::StatusOr<RunRecords> records = ReadRunRecords(run_directory);
    return records.ok() && IsEnough(*records);
  };
  return cluster;
}

absl::Status NetworkBench::TakeRecords(const NetworkSetting& setting,
                                       ComparedRun* run) {
  PS_ASSIGN_OR_RETURN(run->records, ReadRunRecords(run->run_directory));
  // An evaluation that was not asked for may yet be done before it is stopped.
  if (!options_.evaluate) run->records.evaluations.clear();
  run->measures = MeasureRun(run->records, options_.measure);
  return CheckLinkBytes(run->records, run->link_bytes,
                        WorkersDrift(setting.config));
}

absl::Status NetworkBench::RunSetting(size_t number) {
  const NetworkSetting& setting = options_.settings[number];
  ComparedRun run;
  run.setting = setting.name;
  run.run_directory = absl::StrCat(options_.run_directory, "/",
                                   FolderName(number, setting.name));
  absl::PrintF("\n[%d/%d] %s\n", number + 1, options_.settings.size(),
               setting.name);
  std::fflush(stdout);
  PS_RETURN_IF_ERROR(MakeRunDirectory(run.run_directory));
  PS_ASSIGN_OR_RETURN(const int64_t before, SentBytes(*network_));
  const absl::Status trained =
      RunLocalCluster(ClusterOf(setting, run.run_directory));
  PS_ASSIGN_OR_RETURN(const int64_t after, SentBytes(*network_));
  run.link_bytes = after - before;
  const absl::Status recorded = TakeRecords(setting, &run);
  if (absl::IsCancelled(trained)) {
    run.failure = "interrupted";
    // Without an iteration there is nothing to show.
    if (!run.records.iterations.empty()) {
      comparison_.runs.push_back(std::move(run));
    }
    return Interrupted();
  }
  if (!trained.ok() || !recorded.ok()) {
    run.failure = std::string((!trained.ok() ? trained : recorded).message());
    std::printf("failed: %s\n", run.failure.c_str());
  }
  comparison_.runs.push_back(std::move(run));
  return absl::OkStatus();
}

absl::Status NetworkBench::RunAll() {
  PS_ASSIGN_OR_RETURN(interrupts_, Interrupts::Create());
  PS_RETURN_IF_ERROR(MakeNetwork());
  PS_RETURN_IF_ERROR(Annotate(MeasureLinks(), "measuring the network"));
  for (size_t i = 0; i < options_.settings.size(); ++i) {
    if (interrupts_->Take() > 0) return Interrupted();
    PS_RETURN_IF_ERROR(RunSetting(i));
  }
  return absl::OkStatus();
}

NetworkBenchResult NetworkBench::Run() {
  comparison_.job = options_.job;
  comparison_.bits_per_second = options_.bits_per_second;
  comparison_.options = options_.measure;
  NetworkBenchResult result;
  result.status = RunAll();
  result.comparison = std::move(comparison_);
  return result;
}

}  // namespace

NetworkBenchResult RunNetworkBench(const NetworkBenchOptions& options) {
  return NetworkBench(options).Run();
}

}  // namespace ps
