// The one way in which a worker makes a channel to a server.
#ifndef TRANSPORT_CHANNEL_H_
#define TRANSPORT_CHANNEL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "grpcpp/channel.h"

namespace ps {

// Of HTTP/2's frames, which both ends ask each other for. gRPC's default is
// 16 KiB, and every frame is a header to write, to parse and to cut a buffer
// at: 1 MiB takes a quarter to a third off the server's system time of a dense
// push. Larger ones gain nothing more, and make pings wait longer on slow
// links.
constexpr int kMaxFrameBytes = 1 << 20;

// Connects lazily. Reconnects within seconds, also when a restarted server has
// another address behind the same name; notices a dead peer by pings.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           int64_t max_message_bytes);

}  // namespace ps

#endif  // TRANSPORT_CHANNEL_H_
