#include "transport/cluster_watch.h"

#include <utility>

#include "absl/status/statusor.h"
#include "proto/parameter_server.pb.h"
#include "transport/proto_bytes.h"

namespace ps {
namespace {

// The time limit of an answer.
constexpr absl::Duration kTimeout = absl::Seconds(5);

ServerReport ReportOf(absl::StatusOr<grpc::ByteBuffer> answer) {
  ServerReport report;
  const auto response = FromBytes<GetStatusResponse>(std::move(answer));
  report.status = response.status();
  if (!response.ok()) return report;
  report.version = response->version();
  report.missing_ranks.assign(response->missing_ranks().begin(),
                              response->missing_ranks().end());
  report.awaited_ranks.assign(response->awaited_ranks().begin(),
                              response->awaited_ranks().end());
  return report;
}

}  // namespace

ClusterWatch::ClusterWatch(std::vector<std::unique_ptr<ServerChannel>> servers,
                           absl::Duration interval, Heard heard)
    : servers_(std::move(servers)),
      interval_(interval),
      heard_(std::move(heard)),
      asked_(servers_.size(), false),
      thread_("cluster watch", [this] { Run(); }) {}

ClusterWatch::~ClusterWatch() {
  {
    MutexLock lock(&mu_);
    closing_ = true;
    changed_.SignalAll();
  }
  thread_.Join();
  for (const auto& server : servers_) server->Close(kTimeout);
}

void ClusterWatch::Run() {
  for (;;) {
    for (int server = 0; server < static_cast<int>(servers_.size()); ++server) {
      Ask(server);
    }
    MutexLock lock(&mu_);
    if (!closing_) changed_.WaitFor(&mu_, interval_);
    if (closing_) return;
  }
}

void ClusterWatch::Ask(int server) {
  {
    MutexLock lock(&mu_);
    if (asked_[server]) return;
    asked_[server] = true;
  }
  RpcRequest request;
  request.rpc = Rpc::kGetStatus;
  request.message = ToBytes(GetStatusRequest());
  request.timeout = kTimeout;
  servers_[server]->Start(
      request, [this, server](absl::StatusOr<grpc::ByteBuffer> answer) {
        {
          MutexLock lock(&mu_);
          if (closing_) return;
          asked_[server] = false;
        }
        heard_(server, ReportOf(std::move(answer)));
      });
}

}  // namespace ps
