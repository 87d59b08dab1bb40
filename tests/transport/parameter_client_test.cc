// Clients and servers of a job in one process, over loopback: what they agree
// on, and what a client reports if they disagree or a server goes away.
#include "transport/parameter_client.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/config.pb.h"
#include "server/server.h"
#include "tests/common/log_messages.h"
#include "tests/transport/fake_channel.h"
#include "tests/transport/fake_server.h"
#include "transport/proto_bytes.h"
#include "transport/shard_map.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// No process listens there: port 1 is privileged and unused.
constexpr char kNobody[] = "127.0.0.1:1";

const std::vector<int64_t>& BucketSizes() {
  static const auto* const sizes = new std::vector<int64_t>{5000, 7, 1};
  return *sizes;
}

JobConfig Job(int num_workers, int num_servers) {
  JobConfig config;
  ClusterConfig& cluster = *config.mutable_cluster();
  cluster.set_num_workers(num_workers);
  cluster.set_num_servers(num_servers);
  cluster.set_max_slice_elements(1024);
  cluster.set_startup_timeout_seconds(60);
  cluster.set_lost_worker_timeout_seconds(60);
  cluster.set_lost_server_timeout_seconds(60);
  config.mutable_optimizer()->set_learning_rate(1);
  config.mutable_security()->set_mode(SecurityConfig::INSECURE);
  return config;
}

std::unique_ptr<Server> StartServer(const JobConfig& config, int index) {
  ServerOptions options;
  options.config = config;
  options.index = index;
  options.listen = "127.0.0.1:0";
  auto server = Server::Start(options);
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

ShardMap MapFor(const JobConfig& config) {
  ShardMapOptions options;
  options.bucket_sizes = BucketSizes();
  options.num_servers = config.cluster().num_servers();
  options.max_slice_elements = config.cluster().max_slice_elements();
  return *ShardMap::Create(options);
}

ParameterClientOptions ClientOptions(const JobConfig& config,
                                     std::vector<std::string> servers,
                                     int rank) {
  ParameterClientOptions options;
  options.servers = std::move(servers);
  options.worker_rank = rank;
  options.incarnation = 100 + rank;
  options.name = absl::StrCat("test:", rank);
  options.config_text = SharedConfigText(config);
  options.total_iterations = 10;
  options.max_slice_elements = config.cluster().max_slice_elements();
  options.startup_timeout =
      absl::Seconds(config.cluster().startup_timeout_seconds());
  options.lost_server_timeout =
      absl::Seconds(config.cluster().lost_server_timeout_seconds());
  return options;
}

// The values of a whole model, by bucket.
using Buckets = std::vector<std::vector<float>>;

Buckets Filled(float value) {
  Buckets buckets;
  for (const int64_t size : BucketSizes()) buckets.emplace_back(size, value);
  return buckets;
}

AnswerHandler StoreIn(Buckets* weights) {
  return [weights](const SliceAnswer& answer) {
    std::vector<uint32_t> indices;
    std::vector<float> values;
    DecodePayload(answer.payload, &indices, &values);
    EXPECT_EQ(static_cast<int64_t>(values.size()), answer.slice->size());
    std::copy(values.begin(), values.end(),
              (*weights)[answer.slice->bucket].begin() + answer.slice->begin);
    return absl::OkStatus();
  };
}

absl::Status PushAll(ParameterClient* client, const ShardMap& map,
                     int64_t iteration, const Buckets& gradient) {
  for (int b = 0; b < map.num_buckets(); ++b) {
    std::vector<PayloadBuffer> parts;
    for (const Slice& slice : map.slices(b)) {
      parts.push_back(EncodeDense({gradient[b].data() + slice.begin,
                                   static_cast<size_t>(slice.size())}));
    }
    BucketPush push;
    push.iteration = iteration;
    push.bucket = b;
    push.loss = gradient[0][0];
    const absl::Status status = client->Push(push, parts);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Two workers and two servers.
TEST(ParameterClientTest, WeightsAndGradientsMakeTheRoundTrip) {
  constexpr int kIterations = 3;
  const JobConfig config = Job(/*num_workers=*/2, /*num_servers=*/2);
  const ShardMap map = MapFor(config);
  std::vector<std::unique_ptr<Server>> servers;
  std::vector<std::string> addresses;
  for (int i = 0; i < 2; ++i) {
    servers.push_back(StartServer(config, i));
    addresses.push_back(servers.back()->address());
  }
  Buckets final_weights[2] = {Filled(-1), Filled(-1)};
  std::vector<std::thread> workers;
  for (int rank = 0; rank < 2; ++rank) {
    workers.emplace_back([&, rank] {
      auto client = ParameterClient::Connect(
          ClientOptions(config, addresses, rank), &map);
      ASSERT_TRUE(client.ok()) << client.status();
      if (rank == 0) {
        const Buckets first = Filled(100);
        std::vector<const float*> pointers;
        for (const auto& bucket : first) pointers.push_back(bucket.data());
        const absl::Status status = (*client)->InitializeWeights(pointers);
        ASSERT_TRUE(status.ok()) << status;
      }
      Buckets weights = Filled(0);
      ASSERT_TRUE((*client)->PullWeights(0, 0, StoreIn(&weights)).ok());
      EXPECT_EQ(weights, Filled(100));
      for (int64_t iteration = 0; iteration < kIterations; ++iteration) {
        const Buckets gradient = Filled(rank == 0 ? 1.0f : 3.0f);
        ASSERT_TRUE(PushAll(client->get(), map, iteration, gradient).ok());
        int answers = 0;
        const absl::Status status =
            (*client)->AwaitAnswers([&](const SliceAnswer& answer) {
              ++answers;
              EXPECT_EQ(answer.version, iteration + 1);
              EXPECT_EQ(answer.mean_loss, 2);
              EXPECT_EQ(answer.sent_elements, 2 * answer.slice->size());
              EXPECT_GT(answer.bytes_up, 8 * answer.slice->size());
              EXPECT_GT(answer.bytes_down, 4 * answer.slice->size());
              return StoreIn(&weights)(answer);
            });
        ASSERT_TRUE(status.ok()) << status;
        EXPECT_EQ(answers, 5 + 1 + 1) << "slices of the three buckets";
        EXPECT_EQ(weights, Filled(100.0f - 2 * (iteration + 1)));
      }
      final_weights[rank] = weights;
      const absl::Status finished = (*client)->Finish(absl::OkStatus());
      EXPECT_TRUE(finished.ok()) << finished;
    });
  }
  for (const auto& server : servers) {
    const absl::Status status = server->Wait();
    EXPECT_TRUE(status.ok()) << status;
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(final_weights[0], final_weights[1]);
}

// Once all have come, whenever that is.
TEST(ParameterClientTest, WorkersHearHowManyShareTheirProcessors) {
  const JobConfig config = Job(/*num_workers=*/4, /*num_servers=*/1);
  const ShardMap map = MapFor(config);
  const auto server = StartServer(config, 0);
  std::vector<int> sharers(4, 0);
  std::vector<std::thread> workers;
  for (int rank = 0; rank < 4; ++rank) {
    workers.emplace_back([&, rank] {
      ParameterClientOptions options =
          ClientOptions(config, {server->address()}, rank);
      if (rank != 2) options.cores = rank == 0 ? "one" : "two";
      auto client = ParameterClient::Connect(options, &map);
      ASSERT_TRUE(client.ok()) << client.status();
      const auto heard = (*client)->WorkersOnTheseCores(/*await_all=*/true);
      ASSERT_TRUE(heard.ok()) << heard.status();
      sharers[rank] = *heard;
      EXPECT_TRUE((*client)->Finish(absl::OkStatus()).ok());
    });
  }
  EXPECT_TRUE(server->Wait().ok());
  for (std::thread& worker : workers) worker.join();
  EXPECT_THAT(sharers, ElementsAre(1, 2, 1, 2));
}

TEST(ParameterClientTest, AnotherConfigIsRefusedNamingServerAndFields) {
  const JobConfig config = Job(1, 1);
  const ShardMap map = MapFor(config);
  const auto server = StartServer(config, 0);
  JobConfig other = config;
  other.mutable_training()->set_batch_size(17);
  const absl::Status status =
      ParameterClient::Connect(ClientOptions(other, {server->address()}, 0),
                               &map)
          .status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr(absl::StrCat("server 0 at ", server->address())),
            HasSubstr("\n  training.batch_size"), Not(HasSubstr("there and"))));
}

TEST(ParameterClientTest, AServerThatNeverComesIsNamedAfterTheStartupTimeout) {
  const JobConfig config = Job(1, 2);
  const ShardMap map = MapFor(config);
  const auto server = StartServer(config, 0);
  ParameterClientOptions options =
      ClientOptions(config, {server->address(), kNobody}, 0);
  options.startup_timeout = absl::Milliseconds(300);
  const absl::Time start = absl::Now();
  const absl::Status status = ParameterClient::Connect(options, &map).status();
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(300));
  EXPECT_LT(absl::Now() - start, absl::Seconds(30));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("server 1 at 127.0.0.1:1 cannot be reached"),
                    HasSubstr("cluster.servers[1]")));
}

// Otherwise the servers that it reached would wait for it for ever.
// With snapshots it is started again, and may come back.
TEST(ParameterClientTest, AWorkerThatFailsToConnectIsLostForTheOtherServers) {
  for (const bool keeps_snapshots : {false, true}) {
    JobConfig config = Job(1, 2);
    config.mutable_cluster()->set_lost_worker_timeout_seconds(
        keeps_snapshots ? 0.05 : 60);
    if (keeps_snapshots) {
      config.mutable_checkpoint()->set_directory(testing::TempDir());
      config.mutable_checkpoint()->set_every(1);
    }
    const ShardMap map = MapFor(config);
    const auto server = StartServer(config, 0);
    ParameterClientOptions options =
        ClientOptions(config, {server->address(), kNobody}, 0);
    options.keeps_snapshots = keeps_snapshots;
    options.startup_timeout = absl::Milliseconds(300);
    std::thread worker(
        [&] { EXPECT_FALSE(ParameterClient::Connect(options, &map).ok()); });
    const absl::Status status = server->Wait();
    worker.join();
    EXPECT_THAT(
        std::string(status.message()),
        HasSubstr(keeps_snapshots ? "worker 0 (test:0) was lost"
                                  : "worker 0 (test:0) gave up: server 1 at "
                                    "127.0.0.1:1 cannot be reached"));
  }
}

TEST(ParameterClientTest, ASecondWorkerOfARankIsRefused) {
  const JobConfig config = Job(2, 1);
  const ShardMap map = MapFor(config);
  const auto server = StartServer(config, 0);
  const ParameterClientOptions options =
      ClientOptions(config, {server->address()}, 0);
  const auto first = ParameterClient::Connect(options, &map);
  ASSERT_TRUE(first.ok()) << first.status();
  ParameterClientOptions again = options;
  again.incarnation = 555;
  const absl::Status status = ParameterClient::Connect(again, &map).status();
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank 0 is taken by worker 0 (test:0)"));
}

// A job of two servers and two workers. This worker has pushed; the other never
// will.
class WaitingClientTest : public ::testing::Test {
 protected:
  WaitingClientTest() : config_(Job(2, 2)), map_(MapFor(config_)) {
    std::vector<std::string> addresses;
    for (int i = 0; i < 2; ++i) {
      servers_.push_back(StartServer(config_, i));
      addresses.push_back(servers_.back()->address());
    }
    for (int rank = 0; rank < 2; ++rank) {
      auto client = ParameterClient::Connect(
          ClientOptions(config_, addresses, rank), &map_);
      EXPECT_TRUE(client.ok()) << client.status();
      clients_.push_back(*std::move(client));
    }
    const Buckets first = Filled(0);
    std::vector<const float*> pointers;
    for (const auto& bucket : first) pointers.push_back(bucket.data());
    EXPECT_TRUE(clients_[0]->InitializeWeights(pointers).ok());
    EXPECT_TRUE(PushAll(clients_[0].get(), map_, 0, Filled(1)).ok());
  }

  absl::Status Await() {
    return clients_[0]->AwaitAnswers(
        [](const SliceAnswer&) { return absl::OkStatus(); });
  }

  const JobConfig config_;
  const ShardMap map_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::unique_ptr<ParameterClient>> clients_;
};

TEST_F(WaitingClientTest, HearsWhyAServerHasStopped) {
  std::thread serving([this] {
    EXPECT_EQ(servers_[1]->Wait(), absl::AbortedError("disk full"));
  });
  servers_[1]->Stop(absl::AbortedError("disk full"));
  const absl::Status status = Await();
  serving.join();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr(absl::StrCat("server 1 at ", servers_[1]->address())),
            HasSubstr("disk full")));
}

TEST_F(WaitingClientTest, HearsOfAServerThatIsDestroyed) {
  const std::string address = servers_[0]->address();
  servers_[0].reset();
  const absl::Status status = Await();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(absl::StrCat("server 0 at ", address)),
                    HasSubstr("shutting down")));
}

TEST_F(WaitingClientTest, EveryoneHearsOfAWorkerThatGivesUp) {
  std::vector<std::thread> serving;
  for (const auto& server : servers_) {
    serving.emplace_back([&server] {
      const absl::Status status = server->Wait();
      EXPECT_TRUE(absl::IsAborted(status)) << status;
      EXPECT_EQ(status.message(), "worker 1 (test:1) gave up: no data");
    });
  }
  // The worker has pushes under way that nobody will answer.
  ASSERT_TRUE(PushAll(clients_[1].get(), map_, 5, Filled(1)).ok());
  const absl::Status told = clients_[1]->Finish(absl::NotFoundError("no data"));
  EXPECT_TRUE(told.ok()) << told;
  const absl::Status status = Await();
  for (std::thread& thread : serving) thread.join();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("gave up: no data"));
}

// Otherwise they would wait for this worker, and say that it was lost.
TEST_F(WaitingClientTest, OtherServersHearOfOneThatHasFailed) {
  std::thread serving([this] { servers_[1]->Wait().IgnoreError(); });
  servers_[1]->Stop(absl::AbortedError("disk full"));
  const absl::Status status = Await();
  serving.join();
  const absl::Status told = clients_[0]->Finish(status);
  EXPECT_TRUE(told.ok()) << told;
  EXPECT_THAT(std::string(servers_[0]->Wait().message()),
              AllOf(HasSubstr("worker 0 (test:0) gave up: server 1 at "),
                    HasSubstr("disk full")));
}

TEST_F(WaitingClientTest, PayloadsMustBeOneForEachSlice) {
  BucketPush push;
  push.bucket = 1;
  const absl::Status status = clients_[0]->Push(push, {});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("bucket 1 has 1 slices and 0 payloads"));
}

TEST_F(WaitingClientTest, MayBeDestroyedWhileItsCallsAreHeld) {
  clients_.clear();
}

TEST(ParameterClientTest, AServerThatVanishesIsGivenUpAfterTheTimeout) {
  FakeServer server;
  const JobConfig config = Job(1, 1);
  const ShardMap map = MapFor(config);
  ParameterClientOptions options = ClientOptions(config, {server.address()}, 0);
  options.lost_server_timeout = absl::Milliseconds(500);
  const auto client = ParameterClient::Connect(options, &map);
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_TRUE(PushAll(client->get(), map, 0, Filled(1)).ok());
  server.AwaitPush();
  server.Die();
  const absl::Status status = (*client)->AwaitAnswers(
      [](const SliceAnswer&) { return absl::OkStatus(); });
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("server 0 at ", server.address(),
                                     " has not answered for")));
}

TEST(ParameterClientTest, AServerThatComesBackGetsThePushesAgain) {
  auto server = std::make_unique<FakeServer>();
  const JobConfig config = Job(1, 1);
  const ShardMap map = MapFor(config);
  const auto client = ParameterClient::Connect(
      ClientOptions(config, {server->address()}, 0), &map);
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_TRUE(PushAll(client->get(), map, 0, Filled(1)).ok());
  server->AwaitPush();
  const int port = server->port();
  server.reset();
  FakeServer again(port);
  // The worker itself need not wait for answers meanwhile.
  again.AwaitPush();
  EXPECT_EQ(again.num_registered(), 1);
}

// A worker and three servers that answer when the test likes.
class SlowServersTest : public ::testing::Test {
 protected:
  SlowServersTest() : config_(Job(1, 3)), map_(MapFor(config_)) {
    ParameterClientOptions options =
        ClientOptions(config_, {"a:1", "b:1", "c:1"}, 0);
    // Asks almost at once whom the servers wait for.
    options.patience = absl::Milliseconds(1);
    std::vector<std::unique_ptr<FakeChannel>> channels;
    for (int i = 0; i < 3; ++i) {
      channels.push_back(std::make_unique<FakeChannel>());
      channels_.push_back(channels.back().get());
    }
    auto next = channels.begin();
    options.new_channel = [&](const ServerChannelOptions&) {
      return std::move(*next++);
    };
    std::thread connecting([&] {
      auto client = ParameterClient::Connect(options, &map_);
      EXPECT_TRUE(client.ok()) << client.status();
      client_ = *std::move(client);
    });
    for (FakeChannel* channel : channels_) {
      channel->Take(Rpc::kRegister).done(ToBytes(RegisterResponse()));
    }
    connecting.join();
  }

  const JobConfig config_;
  const ShardMap map_;
  std::vector<FakeChannel*> channels_;  // They belong to the client.
  std::unique_ptr<ParameterClient> client_;
};

TEST_F(SlowServersTest, AllAreAskedAtOnceWhomTheyWaitFor) {
  ASSERT_TRUE(PushAll(client_.get(), map_, 0, Filled(1)).ok());
  absl::Status status;
  std::thread waiting([&] {
    status = client_->AwaitAnswers(
        [](const SliceAnswer&) { return absl::OkStatus(); });
  });
  // No server has answered yet when the last one is asked.
  for (FakeChannel* channel : channels_) channel->Take(Rpc::kGetStatus);
  AttendEvent event;
  event.set_failure("the test is over");
  channels_[1]->attending().event(event);
  waiting.join();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("server 1 at b:1"));
}

TEST_F(SlowServersTest, AWorkerThatAllWaitForIsNamedOnce) {
  ASSERT_TRUE(PushAll(client_.get(), map_, 0, Filled(1)).ok());
  const LogMessages messages;
  std::thread waiting([&] {
    client_->AwaitAnswers([](const SliceAnswer&) { return absl::OkStatus(); })
        .IgnoreError();
  });
  std::vector<FakeChannel::Call> calls;
  for (FakeChannel* channel : channels_) {
    calls.push_back(channel->Take(Rpc::kGetStatus));
  }
  GetStatusResponse response;
  // A worker does not wait for itself.
  response.add_missing_ranks(0);
  response.add_missing_ranks(1);
  for (const FakeChannel::Call& call : calls) call.done(ToBytes(response));
  // Asks again only after it has said whom these answers named.
  channels_[0]->Take(Rpc::kGetStatus);
  AttendEvent event;
  event.set_failure("the test is over");
  channels_[1]->attending().event(event);
  waiting.join();
  EXPECT_THAT(messages.all(),
              ElementsAre("waiting for worker 1 (not connected)"));
}

TEST_F(SlowServersTest, AllAreToldAtOnceThatTheWorkerGivesUp) {
  absl::Status status;
  std::thread telling(
      [&] { status = client_->Finish(absl::NotFoundError("no data")); });
  std::vector<FakeChannel::Call> calls;
  for (FakeChannel* channel : channels_) {
    calls.push_back(channel->Take(Rpc::kFinish));
  }
  for (const FakeChannel::Call& call : calls) {
    call.done(ToBytes(FinishResponse()));
  }
  telling.join();
  EXPECT_TRUE(status.ok()) << status;
}

// A worker that left before the slowest server has its message would be lost to
// that one.
TEST_F(SlowServersTest, AllAreToldOfAStopThoughTheFirstServerEndsAtOnce) {
  absl::Status status;
  std::thread telling(
      [&] { status = client_->Finish(absl::OkStatus(), /*stopped=*/true); });
  std::vector<FakeChannel::Call> first;
  for (FakeChannel* channel : channels_) {
    first.push_back(channel->Take(Rpc::kFinish));
  }
  AttendEvent event;
  event.set_failure("asked to end");
  event.set_can_go_on(true);
  channels_[1]->attending().event(event);
  std::vector<FakeChannel::Call> calls;
  for (FakeChannel* channel : channels_) {
    calls.push_back(channel->Take(Rpc::kFinish));
    const auto request = FromBytes<FinishRequest>(calls.back().request.message);
    ASSERT_TRUE(request.ok()) << request.status();
    EXPECT_TRUE(request->stopped());
  }
  // Server 1's two answers are not taken for those of two servers.
  first[1].done(absl::UnavailableError("asked to end"));
  for (const FakeChannel::Call& call : calls) {
    call.done(ToBytes(FinishResponse()));
  }
  telling.join();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("asked to end"));
}

// One of them was killed, and begins anew, while the others go on.
TEST_F(SlowServersTest, ServersThatDisagreeAreAllStartedAgain) {
  absl::Status status;
  std::thread finding([&] {
    status = client_->FindSnapshots({0, 20}, {}).status();
  });
  for (size_t server = 0; server < channels_.size(); ++server) {
    FindSnapshotsResponse response;
    response.add_snapshots(20);
    response.set_alone(server != 1);
    channels_[server]->Take(Rpc::kFindSnapshots).done(ToBytes(response));
  }
  for (FakeChannel* channel : channels_) {
    const FakeChannel::Call call = channel->Take(Rpc::kFinish);
    const auto request = FromBytes<FinishRequest>(call.request.message);
    ASSERT_TRUE(request.ok()) << request.status();
    EXPECT_TRUE(request->can_go_on());
    EXPECT_THAT(request->failure(), HasSubstr("under way at 2 of 3 servers"));
    call.done(ToBytes(FinishResponse()));
  }
  finding.join();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST(ParameterClientTest, AJobIsDoneAlsoIfTheAnswerThatSaysSoIsLost) {
  FakeServer server;
  const JobConfig config = Job(1, 1);
  const ShardMap map = MapFor(config);
  const auto client = ParameterClient::Connect(
      ClientOptions(config, {server.address()}, 0), &map);
  ASSERT_TRUE(client.ok()) << client.status();
  const absl::Status status = (*client)->Finish(absl::OkStatus());
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace ps
