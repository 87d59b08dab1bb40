#include "server/server.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/consistency.h"
#include "common/host_and_port.h"
#include "common/slice_elements.h"
#include "common/stage_workers.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "monitoring/read_metrics.h"
#include "optimizers/optimizer.h"
#include "prometheus/registry.h"
#include "security/credentials.h"
#include "server/callers.h"
#include "server/limits/memory_bound.h"
#include "server/listener.h"
#include "server/log/server_log.h"
#include "server/membership.h"
#include "server/norms/squares_client.h"
#include "server/relay/aux_calls.h"
#include "server/server_calls.h"
#include "server/server_metrics.h"
#include "server/shard.h"
#include "server/shard_snapshots.h"
#include "server/work_queue.h"
#include "storage/process_snapshots.h"

namespace ps {
namespace {

MembershipOptions MembershipOf(const JobConfig& config, bool done) {
  const ClusterConfig& cluster = config.cluster();
  MembershipOptions options;
  options.num_workers = cluster.num_workers();
  options.min_workers = MinWorkers(config);
  // After the job, the server only informs workers that come.
  options.startup_timeout =
      done ? absl::InfiniteDuration()
           : absl::Seconds(cluster.startup_timeout_seconds());
  options.lost_worker_timeout =
      absl::Seconds(cluster.lost_worker_timeout_seconds());
  options.keeps_snapshots = KeepsSnapshots(config);
  options.workers_come_back = WorkersComeBack(config);
  options.workers_join = WorkersDrift(config);
  return options;
}

ListenerOptions ListenerOptionsOf(
    const ServerOptions& options,
    std::shared_ptr<const Credentials> credentials) {
  ListenerOptions listener;
  listener.config = &options.config;
  listener.server_index = options.index;
  listener.address = options.listen;
  listener.credentials = std::move(credentials);
  return listener;
}

class JobServer final : public Server {
 public:
  JobServer(const ServerOptions& options,
            std::shared_ptr<const Credentials> credentials,
            std::shared_ptr<ServerMetrics> metrics,
            std::unique_ptr<ProcessSnapshots> snapshots,
            std::unique_ptr<ServerLog> log)
      : options_(options),
        credentials_(std::move(credentials)),
        metrics_(std::move(metrics)),
        snapshots_(std::move(snapshots)),
        log_(std::move(log)),
        membership_(MembershipOf(options_.config, was_done()), SteadyClock()),
        shard_(
            &options_.config, options_.index,
            [this](const std::string& address) {
              return NewSquaresClient(address, credentials_->ForServer(0));
            },
            [this](std::function<void()> work) {
              work_queue_.Schedule(std::move(work));
            },
            SteadyClock(), asked_to_stop(), log_.get()),
        shard_snapshots_(SnapshotsOptions()),
        work_queue_(options_.config.machine().server_threads()),
        listener_(Listener::New(ListenerOptionsOf(options_, credentials_))),
        callers_(CallersOptionsOf()),
        aux_(AuxOptions()),
        calls_(CallsOptions()) {
    AddReadMetrics();
  }

  ~JobServer() override {
    // Deferred calls are answered first, because Shutdown would wait for them.
    // None is left if Wait has returned.
    EndCalls(absl::AbortedError("the server is shutting down"));
    listener_->Shutdown();
    shard_.Stop();
  }

  absl::Status Listen() { return listener_->Listen(&calls_); }

  std::string address() const override { return listener_->address(); }

  absl::Status Wait() override {
    if (was_done()) {
      LOG(INFO) << "the job is done (" << snapshots_->folder()
                << "/done); this server tells workers so until it is stopped. "
                   "To train again, remove the folders of all processes, or "
                   "name another checkpoint.directory";
    }
    const absl::Status result = membership_.WaitUntilOver([this](int rank) {
      work_queue_.Schedule([this, rank] {
        // The worker may have been restarted.
        if (!membership_.IsGone(rank)) return;
        shard_.WorkerGone(rank);
        shard_snapshots_.WorkerGone(rank);
      });
    });
    const absl::Status end = result.ok() ? AllFinished() : result;
    EndCalls(end);
    listener_->Shutdown();
    return end;
  }

  std::vector<std::shared_ptr<prometheus::Collectable>> metrics()
      const override {
    return {metrics_->registry(), read_metrics_};
  }

  void Stop(const absl::Status& failure) override { membership_.Fail(failure); }

 private:
  // Ends the job. All state is on disk before a worker is told.
  absl::Status AllFinished() {
    const bool saved = snapshots_ == nullptr || snapshots_->Flush().ok();
    if (calls_.stopped()) {
      return absl::UnavailableError(
          absl::StrCat("asked to end after update ", shard_.version(),
                       "; start all processes again and the job goes on from ",
                       saved ? "there" : "the snapshot before"));
    }
    if (snapshots_ == nullptr) return absl::OkStatus();
    const absl::Status marked = snapshots_->MarkDone();
    LOG_IF(WARNING, !marked.ok())
        << marked << "; if this server is started again, it will not know "
        << "that the job is done";
    return absl::OkStatus();
  }

  bool was_done() const { return snapshots_ != nullptr && snapshots_->done(); }

  std::atomic<bool>* asked_to_stop() {
    return options_.asked_to_stop != nullptr ? options_.asked_to_stop
                                             : &own_asked_to_stop_;
  }

  void AddReadMetrics() {
    read_metrics_->AddGauge(
        "gradsieve_server_version",
        "Updates of the slice that has received the fewest; -1 before the "
        "initial weights.",
        [this] { return static_cast<double>(shard_.version()); });
    read_metrics_->AddGauge(
        "gradsieve_server_missing_workers",
        "Workers that have not registered or are lost.", [this] {
          return static_cast<double>(membership_.MissingRanks().size());
        });
    read_metrics_->AddGauge(
        "gradsieve_server_work_queue_length",
        "Calls that wait for a thread of the server.",
        [this] { return static_cast<double>(work_queue_.size()); });
    read_metrics_->AddGauge("gradsieve_server_credit_bytes",
                            "What each worker's pushes may hold here.", [this] {
                              return static_cast<double>(calls_.credit_bytes());
                            });
    AddGaugeOfWorkers("gradsieve_server_held_bytes",
                      "What each worker's pushes and initial weights hold here "
                      "now.",
                      [this](int rank) { return calls_.held_bytes(rank); });
    if (!WorkersHaveStages(options_.config)) return;
    AddGaugeOfWorkers(
        "gradsieve_server_relayed_bytes",
        "What each worker's arrays for other workers hold here now.",
        [this](int rank) { return aux_.held_bytes(rank); });
  }

  void AddGaugeOfWorkers(const std::string& name, const std::string& help,
                         std::function<int64_t(int rank)> read) {
    read_metrics_->AddGauges(name, help, "rank", [this, read] {
      std::vector<ReadMetrics::Labelled> values;
      const int num_workers = options_.config.cluster().num_workers();
      for (int rank = 0; rank < num_workers; ++rank) {
        values.push_back({absl::StrCat(rank), static_cast<double>(read(rank))});
      }
      return values;
    });
  }

  ShardSnapshotsOptions SnapshotsOptions() {
    ShardSnapshotsOptions options;
    options.server_index = options_.index;
    options.config = &options_.config;
    options.shard = &shard_;
    options.snapshots = snapshots_.get();
    options.log = log_.get();
    options.schedule = [this](std::function<void()> work) {
      work_queue_.Schedule(std::move(work));
    };
    options.fail = [this](const absl::Status& failure) {
      membership_.Fail(failure);
    };
    return options;
  }

  CallersOptions CallersOptionsOf() {
    CallersOptions options;
    options.credentials = credentials_.get();
    options.membership = &membership_;
    options.known = [this](const std::string& peer) { listener_->Know(peer); };
    return options;
  }

  AuxCallsOptions AuxOptions() const {
    AuxCallsOptions options;
    const ClusterConfig& cluster = options_.config.cluster();
    if (WorkersHaveStages(options_.config)) {
      options.limits = StageLimitsFor(
          cluster.num_workers(), cluster.num_servers(),
          StageCreditBytes(options_.config), MaxSliceElements(options_.config));
    }
    options.server_index = options_.index;
    options.callers = &callers_;
    return options;
  }

  ServerCallsOptions CallsOptions() {
    ServerCallsOptions options;
    options.config = &options_.config;
    options.server_index = options_.index;
    options.callers = &callers_;
    options.membership = &membership_;
    options.shard = &shard_;
    options.snapshots = &shard_snapshots_;
    options.aux = &aux_;
    options.work_queue = &work_queue_;
    options.metrics = metrics_;
    options.clock = SteadyClock();
    options.asked_to_stop = asked_to_stop();
    options.has_weights = options_.has_weights;
    options.quota = [this](int64_t bytes) { listener_->SetQuota(bytes); };
    options.done = was_done();
    return options;
  }

  // Answers all deferred calls.
  void EndCalls(const absl::Status& status) {
    calls_.End(status);
    aux_.End(status);
  }

  const ServerOptions options_;
  const std::shared_ptr<const Credentials> credentials_;
  const std::shared_ptr<ServerMetrics> metrics_;
  const std::shared_ptr<ReadMetrics> read_metrics_ =
      std::make_shared<ReadMetrics>();
  std::atomic<bool> own_asked_to_stop_{false};
  // Null if nothing is kept.
  const std::unique_ptr<ProcessSnapshots> snapshots_;
  const std::unique_ptr<ServerLog> log_;
  Membership membership_;
  Shard shard_;
  ShardSnapshots shard_snapshots_;
  WorkQueue work_queue_;
  const std::unique_ptr<Listener> listener_;
  const Callers callers_;
  AuxCalls aux_;
  ServerCalls calls_;
};

}  // namespace

namespace {

// Checks the options.
absl::Status CheckOptions(const ServerOptions& options) {
  const int num_servers = options.config.cluster().num_servers();
  if (options.index < 0 || options.index >= num_servers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "server index is ", options.index, "; this job has servers 0 to ",
        num_servers - 1, " (cluster.num_servers)"));
  }
  // gRPC would accept such an address and listen on another port.
  if (!IsServerAddress(options.listen)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "server ", options.index, " cannot listen on \"", options.listen,
        "\"; ", kHostAndPortRule, ", or unix:/path of at most 107 bytes"));
  }
  if (options.index > 0 && NeedsNorms(options.config.optimizer()) &&
      options.config.cluster().servers_size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cluster.servers is empty; with optimizer.name \"",
        options.config.optimizer().name(), "\" server ", options.index,
        " needs the address of server 0, to exchange norms with it"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Credentials>> MakeCredentials(
    const ServerOptions& options) {
  CredentialsOptions identity;
  identity.config = &options.config;
  identity.self = {options.config.name(), Role::kServer, options.index};
  identity.listen = options.listen;
  return Credentials::Create(identity);
}

}  // namespace

absl::Status Server::Check(const ServerOptions& options) {
  PS_RETURN_IF_ERROR(CheckOptions(options));
  PS_ASSIGN_OR_RETURN(const std::shared_ptr<const Credentials> credentials,
                      MakeCredentials(options));
  return Listener::New(ListenerOptionsOf(options, credentials))
      ->Listen(nullptr);
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const ServerOptions& options) {
  PS_RETURN_IF_ERROR(CheckOptions(options));
  PS_ASSIGN_OR_RETURN(const std::shared_ptr<const Credentials> credentials,
                      MakeCredentials(options));
  const auto metrics =
      std::make_shared<ServerMetrics>(options.config, options.index);
  std::unique_ptr<ProcessSnapshots> snapshots;
  if (KeepsSnapshots(options.config)) {
    ProcessSnapshotsOptions kept;
    kept.config = &options.config;
    kept.process =
        ServerProcess(options.index, options.config.cluster().num_servers());
    kept.written = [metrics](absl::Duration took, const absl::Status& result) {
      metrics->SnapshotWritten(took, result);
    };
    PS_ASSIGN_OR_RETURN(snapshots, ProcessSnapshots::Open(kept));
  }
  std::unique_ptr<ServerLog> log;
  const CheckpointConfig& checkpoint = options.config.checkpoint();
  if (snapshots != nullptr &&
      checkpoint.durability() == CheckpointConfig::EVERY_UPDATE) {
    ServerLogOptions kept;
    kept.folder = snapshots->folder();
    kept.max_bytes = int64_t{checkpoint.log_megabytes()} << 20;
    kept.sync = checkpoint.fsync();
    kept.appended = [metrics](absl::Duration took, int64_t bytes) {
      metrics->LogAppended(took, bytes);
    };
    PS_ASSIGN_OR_RETURN(log, ServerLog::Open(kept));
  }
  auto server = std::make_unique<JobServer>(
      options, credentials, metrics, std::move(snapshots), std::move(log));
  const absl::Status listening = server->Listen();
  if (!listening.ok()) return listening;
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace ps
