#include "transport/channel.h"

#include "absl/strings/str_cat.h"
#include "common/host_and_port.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"
#include "transport/connections/callback_queue.h"

namespace ps {

std::shared_ptr<grpc::Channel> MakeChannel(
    const std::string& address, int64_t max_message_bytes,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  KeepCallbackQueue();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(max_message_bytes));
  arguments.SetMaxSendMessageSize(static_cast<int>(max_message_bytes));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kMaxFrameBytes);
  // By default gRPC waits up to two minutes between attempts and 30 s between
  // look-ups of a name; a restarted server is back much sooner.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1000);
  // A look-up whose reply is lost would hold up the next one for two minutes.
  arguments.SetInt(GRPC_ARG_DNS_ARES_QUERY_TIMEOUT_MS, 5000);
  // A host that vanished sends no FIN; only an unanswered ping reveals it.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // By default pings stop after two without data.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Connections are not shared with other channels of this process, so that
  // several channels to one server use several connections.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Proxy settings in the environment are ignored: workers and servers connect
  // directly.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // gRPC would take a host named "unix" or "ipv4" for the kind of an address.
  return grpc::CreateCustomChannel(
      IsUnixSocket(address) ? address : absl::StrCat("dns:///", address),
      credentials, arguments);
}

}  // namespace ps
