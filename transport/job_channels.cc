#include "transport/job_channels.h"

#include <cstdint>

#include "common/status_macros.h"
#include "security/credentials.h"
#include "transport/grpc_server_channel.h"

namespace ps {
namespace {

constexpr int64_t kMaxMessageBytes = 1 << 20;

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<ServerChannel>>> ChannelsToServers(
    const JobConfig& config, int worker_rank) {
  CredentialsOptions options;
  options.config = &config;
  options.self = {config.name(), Role::kWorker, worker_rank};
  PS_ASSIGN_OR_RETURN(const std::shared_ptr<const Credentials> credentials,
                      Credentials::Create(options));
  std::vector<std::unique_ptr<ServerChannel>> channels;
  for (int i = 0; i < config.cluster().servers_size(); ++i) {
    ServerChannelOptions channel;
    channel.address = config.cluster().servers(i);
    channel.credentials = credentials->ForServer(i);
    channel.max_message_bytes = kMaxMessageBytes;
    channels.push_back(NewGrpcServerChannel(channel));
  }
  return channels;
}

}  // namespace ps
