// The one way in which a worker makes a channel to a server.
#ifndef TRANSPORT_CHANNEL_H_
#define TRANSPORT_CHANNEL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "grpcpp/channel.h"

namespace ps {

// Connects lazily. Reconnects within seconds, also when a restarted server has
// another address behind the same name; notices a dead peer by pings.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           int64_t max_message_bytes);

}  // namespace ps

#endif  // TRANSPORT_CHANNEL_H_
