#include "server/server.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/consistency.h"
#include "common/host_and_port.h"
#include "common/stage_workers.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "monitoring/read_metrics.h"
#include "optimizers/optimizer.h"
#include "prometheus/registry.h"
#include "security/credentials.h"
#include "server/callers.h"
#include "server/limits/call_watch.h"
#include "server/limits/connection_limits.h"
#include "server/limits/memory_bound.h"
#include "server/log/server_log.h"
#include "server/membership.h"
#include "server/norms/squares_client.h"
#include "server/ps_service.h"
#include "server/relay/aux_service.h"
#include "server/server_metrics.h"
#include "server/shard.h"
#include "server/shard_snapshots.h"
#include "server/work_queue.h"
#include "storage/process_snapshots.h"
#include "transport/accepted_sockets.h"
#include "transport/acceptor.h"
#include "transport/callback_queue.h"
#include "transport/channel.h"
#include "transport/deadline_after.h"
#include "transport/slice_message.h"

namespace ps {
namespace {

// The time that the last answers may take to reach the workers.
constexpr absl::Duration kFarewell = absl::Seconds(5);

MembershipOptions MembershipOf(const JobConfig& config, bool done) {
  const ClusterConfig& cluster = config.cluster();
  MembershipOptions options;
  options.num_workers = cluster.num_workers();
  options.min_workers = MinWorkers(config);
  // It only tells those who come.
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

absl::StatusOr<std::unique_ptr<Acceptor>> ListenFor(
    const ServerOptions& options, const ConnectionLimits& limits) {
  AcceptorOptions accepted;
  accepted.address = options.listen;
  accepted.max_connections = limits.total;
  accepted.max_connections_per_host = limits.per_host;
  accepted.tls_only =
      options.config.security().mode() == SecurityConfig::MUTUAL_TLS;
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor =
      Acceptor::Listen(accepted);
  if (acceptor.ok()) return acceptor;
  return absl::UnavailableError(absl::StrCat(
      "server ", options.index, " cannot listen on ", options.listen, " (",
      acceptor.status().message(),
      "); is another process using that port (ss -ltnp shows it), or is "
      "the host not this machine's? Give it another address in "
      "cluster.servers[",
      options.index, "], or --listen"));
}

class GrpcServer final : public Server {
 public:
  GrpcServer(const ServerOptions& options,
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
        callers_(CallersOptionsOf()),
        service_(ServiceOptions()),
        aux_service_(AuxOptions()) {
    AddReadMetrics();
  }

  ~GrpcServer() override {
    // Held calls are answered first, because Shutdown would wait for them. None
    // is left if Wait has returned.
    EndServices(absl::AbortedError("the server is shutting down"));
    Shutdown();
    shard_.Stop();
  }

  // `limits` are those of ConnectionLimitsFor.
  absl::Status Listen(const ConnectionLimits& limits) {
    PS_ASSIGN_OR_RETURN(acceptor_, ListenFor(options_, limits));
    KeepCallbackQueue();
    grpc::ServerBuilder builder;
    Acceptor::Take take = TakeSockets(credentials_->ForListening(), &builder);
    // Whoever does not finish the handshake holds a connection only so long.
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10000);
    // Workers send pings every 10 s, even between calls.
    builder.AddChannelArgument(
        GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
    // By default pings stop after two without data.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    // The memory of calls is not in the quota (server/limits/call_watch.h).
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                               kMaxCallsPerConnection);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kMaxFrameBytes);
    builder.SetResourceQuota(quota_);
    const int64_t max_message_bytes =
        MaxMessageBytes(options_.config.cluster().max_slice_elements());
    builder.SetMaxReceiveMessageSize(static_cast<int>(max_message_bytes));
    builder.SetMaxSendMessageSize(static_cast<int>(max_message_bytes));
    // Payloads are already compressed, and a few bytes of gzip can expand to
    // gigabytes.
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
    builder.RegisterService(&service_);
    builder.RegisterService(&aux_service_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::InternalError("gRPC does not start");
    call_watch_ = std::make_unique<CallWatch>(
        kMaxCallsPerConnection,
        [this](const std::string& peer) { acceptor_->Drop(peer); });
    acceptor_->Run(std::move(take));
    return absl::OkStatus();
  }

  std::string address() const override {
    if (IsUnixSocket(options_.listen)) return options_.listen;
    const size_t colon = options_.listen.rfind(':');
    return absl::StrCat(options_.listen.substr(0, colon + 1),
                        acceptor_->port());
  }

  absl::Status Wait() override {
    if (was_done()) {
      LOG(INFO) << "the job is done (" << snapshots_->folder()
                << "/done); this server tells workers so until it is stopped. "
                   "To train again, remove the folders of all processes, or "
                   "name another checkpoint.directory";
    }
    const absl::Status result = membership_.WaitUntilOver([this](int rank) {
      work_queue_.Schedule([this, rank] {
        // It may have been started again.
        if (!membership_.IsGone(rank)) return;
        shard_.WorkerGone(rank);
        shard_snapshots_.WorkerGone(rank);
      });
    });
    const absl::Status end = result.ok() ? AllFinished() : result;
    EndServices(end);
    Shutdown();
    return end;
  }

  std::vector<std::shared_ptr<prometheus::Collectable>> metrics()
      const override {
    return {metrics_->registry(), read_metrics_};
  }

  void Stop(const absl::Status& failure) override { membership_.Fail(failure); }

 private:
  // How the job ends. Everything is on disk before a worker hears of it.
  absl::Status AllFinished() {
    const bool saved = snapshots_ == nullptr || snapshots_->Flush().ok();
    if (service_.stopped()) {
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
        "first weights.",
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
    read_metrics_->AddGauge(
        "gradsieve_server_credit_bytes",
        "What each worker's pushes may hold here.",
        [this] { return static_cast<double>(service_.credit_bytes()); });
    AddGaugeOfWorkers("gradsieve_server_held_bytes",
                      "What each worker's pushes and first weights hold here "
                      "now.",
                      [this](int rank) { return service_.held_bytes(rank); });
    if (!WorkersHaveStages(options_.config)) return;
    AddGaugeOfWorkers(
        "gradsieve_server_relayed_bytes",
        "What each worker's arrays for other workers hold here now.",
        [this](int rank) { return aux_service_.held_bytes(rank); });
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
    options.num_workers = options_.config.cluster().num_workers();
    options.shard = &shard_;
    options.snapshots = snapshots_.get();
    options.log = log_.get();
    options.replace_lost_workers =
        options_.config.checkpoint().replace_lost_workers();
    options.workers_come_back = WorkersComeBack(options_.config);
    options.workers_join = WorkersDrift(options_.config);
    options.schedule = [this](std::function<void()> work) {
      work_queue_.Schedule(std::move(work));
    };
    options.fail = [this](const absl::Status& failure) {
      membership_.Fail(failure);
    };
    options.reads_log = [this] { membership_.AwaitNobody(); };
    options.decided = [this] { membership_.AwaitRegistrations(); };
    return options;
  }

  CallersOptions CallersOptionsOf() {
    CallersOptions options;
    options.credentials = credentials_.get();
    options.membership = &membership_;
    options.metrics = metrics_;
    options.known = [this](const std::string& peer) { acceptor_->Know(peer); };
    return options;
  }

  AuxServiceOptions AuxOptions() const {
    AuxServiceOptions options;
    const ClusterConfig& cluster = options_.config.cluster();
    if (WorkersHaveStages(options_.config)) {
      options.limits = StageLimitsFor(
          cluster.num_workers(), cluster.num_servers(),
          StageCreditBytes(options_.config), cluster.max_slice_elements());
    }
    options.server_index = options_.index;
    options.callers = &callers_;
    return options;
  }

  PsServiceOptions ServiceOptions() {
    PsServiceOptions options;
    options.config = &options_.config;
    options.server_index = options_.index;
    options.callers = &callers_;
    options.membership = &membership_;
    options.shard = &shard_;
    options.snapshots = &shard_snapshots_;
    options.work_queue = &work_queue_;
    options.metrics = metrics_;
    options.clock = SteadyClock();
    options.asked_to_stop = asked_to_stop();
    options.has_weights = options_.has_weights;
    options.quota = [this](int64_t bytes) {
      quota_.Resize(static_cast<size_t>(bytes));
    };
    options.done = was_done();
    return options;
  }

  // Answers all calls that are held.
  void EndServices(const absl::Status& status) {
    service_.End(status);
    aux_service_.End(status);
  }

  void Shutdown() {
    if (server_ == nullptr) return;
    acceptor_->Stop();
    call_watch_ = nullptr;
    server_->Shutdown(DeadlineAfter(kFarewell));
    server_ = nullptr;
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
  grpc::ResourceQuota quota_;
  const Callers callers_;
  PsService service_;
  AuxService aux_service_;
  std::unique_ptr<Acceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<CallWatch> call_watch_;
};

}  // namespace

namespace {

// Whether the options make sense.
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
        "\"; must be host:port with a port in [0, 65535], or unix:/path of at "
        "most 107 bytes"));
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
  PS_ASSIGN_OR_RETURN(const ConnectionLimits limits,
                      ConnectionLimitsFor(options.config.cluster()));
  PS_RETURN_IF_ERROR(MakeCredentials(options).status());
  return ListenFor(options, limits).status();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const ServerOptions& options) {
  PS_RETURN_IF_ERROR(CheckOptions(options));
  PS_ASSIGN_OR_RETURN(const ConnectionLimits limits,
                      ConnectionLimitsFor(options.config.cluster()));
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
  auto server = std::make_unique<GrpcServer>(
      options, credentials, metrics, std::move(snapshots), std::move(log));
  const absl::Status listening = server->Listen(limits);
  if (!listening.ok()) return listening;
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace ps
