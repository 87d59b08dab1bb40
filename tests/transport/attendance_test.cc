// Teardown while both ends of a connection close it: of the long-lived call,
// and inside gRPC of the queue of the last channel or server.
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "gtest/gtest.h"
#include "proto/config.pb.h"
#include "server/server.h"
#include "transport/parameter_client.h"
#include "transport/shard_map.h"

namespace ps {
namespace {

// Enough rounds to hit both a call that is deleted before its owner has
// forgotten it and gRPC's double release
// (transport/connections/callback_queue.h). AddressSanitizer reports either.
constexpr int kRounds = 60;

TEST(Attendance, ClientMayGoWhileTheServersEndTheJob) {
  JobConfig config;
  config.mutable_cluster()->set_num_workers(1);
  config.mutable_cluster()->set_num_servers(1);
  config.mutable_security()->set_mode(SecurityConfig::INSECURE);
  ShardMapOptions map_options;
  map_options.bucket_sizes = {10};
  map_options.num_servers = 1;
  map_options.max_slice_elements = 1024;
  const ShardMap map = *ShardMap::Create(map_options);
  for (int round = 0; round < kRounds; ++round) {
    ServerOptions server_options;
    server_options.config = config;
    server_options.listen = "127.0.0.1:0";
    const std::unique_ptr<Server> server =
        Server::Start(server_options).value();
    absl::Status ended = absl::UnknownError("has not ended");
    std::thread serving([&] { ended = server->Wait(); });

    ParameterClientOptions options;
    options.servers = {server->address()};
    options.incarnation = round + 1;
    options.name = "test";
    options.config_text = SharedConfigText(config);
    options.total_iterations = 1;
    options.max_slice_elements = 1024;
    options.startup_timeout = absl::Seconds(60);
    options.lost_server_timeout = absl::Seconds(60);
    std::unique_ptr<ParameterClient> client =
        ParameterClient::Connect(options, &map).value();
    EXPECT_TRUE(client->Finish(absl::OkStatus()).ok());
    client.reset();
    serving.join();
    EXPECT_TRUE(ended.ok()) << ended;
  }
}

}  // namespace
}  // namespace ps
