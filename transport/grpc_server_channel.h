// Implements ServerChannel over gRPC.
#ifndef TRANSPORT_GRPC_SERVER_CHANNEL_H_
#define TRANSPORT_GRPC_SERVER_CHANNEL_H_

#include <memory>

#include "transport/server_channel.h"

namespace ps {

// Creates a channel, which connects lazily.
std::unique_ptr<ServerChannel> NewGrpcServerChannel(
    const ServerChannelOptions& options);

}  // namespace ps

#endif  // TRANSPORT_GRPC_SERVER_CHANNEL_H_
