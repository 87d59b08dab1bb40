// Creates all channels to servers.
#ifndef TRANSPORT_CHANNEL_H_
#define TRANSPORT_CHANNEL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "grpcpp/channel.h"
#include "grpcpp/security/credentials.h"

namespace ps {

// The HTTP/2 frame size that both ends ask each other for. gRPC's default is 16
// KiB, and every frame has a header to write and to parse, and splits a buffer.
// 1 MiB reduces the server's system time for a dense push by a quarter to a
// third. Larger frames gain nothing more and make pings wait longer on slow
// links.
constexpr int kMaxFrameBytes = 1 << 20;

// Creates a channel. It connects lazily, reconnects within seconds, even if a
// restarted server has another address behind the same name, and detects a dead
// peer by pings.
std::shared_ptr<grpc::Channel> MakeChannel(
    const std::string& address, int64_t max_message_bytes,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials);

}  // namespace ps

#endif  // TRANSPORT_CHANNEL_H_
