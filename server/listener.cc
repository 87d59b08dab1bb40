#include "server/listener.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/host_and_port.h"
#include "common/slice_elements.h"
#include "common/status_macros.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "server/grpc_services.h"
#include "server/limits/call_watch.h"
#include "server/limits/connection_limits.h"
#include "transport/channel.h"
#include "transport/connections/accepted_sockets.h"
#include "transport/connections/acceptor.h"
#include "transport/connections/callback_queue.h"
#include "transport/deadline_after.h"
#include "transport/slice_message.h"

namespace ps {
namespace {

// The time limit for the last answers to reach the workers.
constexpr absl::Duration kFarewell = absl::Seconds(5);

absl::StatusOr<std::unique_ptr<Acceptor>> ListenFor(
    const ListenerOptions& options, const ConnectionLimits& limits) {
  AcceptorOptions accepted;
  accepted.address = options.address;
  accepted.max_connections = limits.total;
  accepted.max_connections_per_host = limits.per_host;
  accepted.tls_only =
      options.config->security().mode() == SecurityConfig::MUTUAL_TLS;
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor =
      Acceptor::Listen(accepted);
  if (acceptor.ok()) return acceptor;
  return absl::UnavailableError(absl::StrCat(
      "server ", options.server_index, " cannot listen on ", options.address,
      " (", acceptor.status().message(),
      "); is another process using that port (ss -ltnp shows it), or is "
      "the host not this machine's? Give it another address in "
      "cluster.servers[",
      options.server_index, "], or --listen"));
}

class GrpcListener final : public Listener {
 public:
  explicit GrpcListener(const ListenerOptions& options) : options_(options) {}

  ~GrpcListener() override { Shutdown(); }

  absl::Status Listen(ServerCalls* calls) override {
    PS_ASSIGN_OR_RETURN(const ConnectionLimits limits,
                        ConnectionLimitsFor(options_.config->cluster()));
    PS_ASSIGN_OR_RETURN(acceptor_, ListenFor(options_, limits));
    if (calls == nullptr) return absl::OkStatus();
    ps_service_ = std::make_unique<PsService>(calls);
    aux_service_ = std::make_unique<AuxService>(
        [calls](Rpc rpc, const Caller& caller, const grpc::ByteBuffer& request,
                HeldCall::Answer answer) {
          return calls->Call(rpc, caller, request, std::move(answer));
        });
    KeepCallbackQueue();
    grpc::ServerBuilder builder;
    Acceptor::Take take =
        TakeSockets(options_.credentials->ForListening(), &builder);
    // This times out incomplete handshakes.
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
        MaxMessageBytes(MaxSliceElements(*options_.config));
    builder.SetMaxReceiveMessageSize(static_cast<int>(max_message_bytes));
    builder.SetMaxSendMessageSize(static_cast<int>(max_message_bytes));
    // Payloads are already compressed, and a few bytes of gzip can expand to
    // gigabytes.
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
    builder.RegisterService(ps_service_.get());
    builder.RegisterService(aux_service_.get());
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::InternalError("gRPC does not start");
    call_watch_ = std::make_unique<CallWatch>(
        kMaxCallsPerConnection,
        [this](const std::string& peer) { acceptor_->Drop(peer); });
    acceptor_->Run(std::move(take));
    return absl::OkStatus();
  }

  std::string address() const override {
    if (IsUnixSocket(options_.address)) return options_.address;
    const size_t colon = options_.address.rfind(':');
    return absl::StrCat(options_.address.substr(0, colon + 1),
                        acceptor_->port());
  }

  void Know(const std::string& peer) override { acceptor_->Know(peer); }

  void SetQuota(int64_t bytes) override {
    quota_.Resize(static_cast<size_t>(bytes));
  }

  void Shutdown() override {
    if (server_ == nullptr) return;
    acceptor_->Stop();
    call_watch_ = nullptr;
    server_->Shutdown(DeadlineAfter(kFarewell));
    server_ = nullptr;
  }

 private:
  const ListenerOptions options_;
  grpc::ResourceQuota quota_;
  std::unique_ptr<PsService> ps_service_;
  std::unique_ptr<AuxService> aux_service_;
  std::unique_ptr<Acceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<CallWatch> call_watch_;
};

}  // namespace

std::unique_ptr<Listener> Listener::New(const ListenerOptions& options) {
  return std::make_unique<GrpcListener>(options);
}

}  // namespace ps
