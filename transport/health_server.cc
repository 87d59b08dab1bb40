#include "transport/health_server.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/host_and_port.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "transport/connections/accepted_sockets.h"
#include "transport/connections/acceptor.h"
#include "transport/connections/callback_queue.h"
#include "transport/deadline_after.h"

namespace ps {
namespace {

// A probe makes a connection, asks and leaves.
constexpr int kMaxConnections = 16;
constexpr int kMaxCallsPerConnection = 4;
constexpr int kMaxMessageBytes = 1024;
constexpr size_t kQuotaBytes = 4 << 20;

class GrpcHealthServer final : public HealthServer {
 public:
  explicit GrpcHealthServer(std::unique_ptr<Acceptor> acceptor)
      : acceptor_(std::move(acceptor)) {}

  ~GrpcHealthServer() override {
    acceptor_->Stop();
    if (server_ != nullptr) server_->Shutdown(DeadlineAfter(absl::Seconds(1)));
  }

  // Starts the server; returns false if gRPC does not start.
  bool Run() {
    KeepCallbackQueue();
    grpc::ServerBuilder builder;
    Acceptor::Take take =
        TakeSockets(grpc::InsecureServerCredentials(), &builder);
    // gRPC does not start a server without a service of the caller's own. This
    // one answers UNIMPLEMENTED.
    builder.RegisterCallbackGenericService(&nothing_);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                               kMaxCallsPerConnection);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    grpc::ResourceQuota quota;
    quota.Resize(kQuotaBytes);
    builder.SetResourceQuota(quota);
    // The option is the whole process's; only this server gets the service.
    grpc::EnableDefaultHealthCheckService(true);
    server_ = builder.BuildAndStart();
    grpc::EnableDefaultHealthCheckService(false);
    if (server_ == nullptr) return false;
    server_->GetHealthCheckService()->SetServingStatus(kLiveService, true);
    SetReady(false);
    acceptor_->Run(std::move(take));
    return true;
  }

  int port() const override { return acceptor_->port(); }

  void SetReady(bool ready) override {
    server_->GetHealthCheckService()->SetServingStatus(kReadyService, ready);
  }

 private:
  const std::unique_ptr<Acceptor> acceptor_;
  grpc::CallbackGenericService nothing_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HealthServer>> HealthServer::Start(
    const std::string& address) {
  AcceptorOptions options;
  options.address = WithOwnHost(address);
  if (!IsHostAndPort(options.address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the address for health checks is \"", address, "\"; ",
                     kHostAndPortRule, ", or a port alone, for this machine"));
  }
  options.max_connections = kMaxConnections;
  options.max_connections_per_host = kMaxConnections;
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor =
      Acceptor::Listen(options);
  if (!acceptor.ok()) {
    return absl::UnavailableError(absl::StrCat(
        "cannot answer health checks on ", address, " (",
        acceptor.status().message(),
        "); is another process using that port (ss -ltnp shows it), or is the "
        "host not this machine's?"));
  }
  auto server = std::make_unique<GrpcHealthServer>(*std::move(acceptor));
  if (!server->Run()) return absl::InternalError("gRPC does not start");
  return std::unique_ptr<HealthServer>(std::move(server));
}

}  // namespace ps
