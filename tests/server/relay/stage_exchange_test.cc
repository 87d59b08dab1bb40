// What workers of one job send each other arrives: in a process of its own
// kind, and over real servers that lose answers, are full or are restarted.
#include "transport/stage_exchange.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "common/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/config.pb.h"
#include "security/credentials.h"
#include "server/callers.h"
#include "server/grpc_services.h"
#include "server/held_call.h"
#include "server/membership.h"
#include "server/relay/aux_calls.h"
#include "server/server.h"
#include "tests/server/raw_worker.h"
#include "tests/transport/fake_server.h"
#include "tests/transport/local_exchanges.h"
#include "transport/grpc_server_channel.h"
#include "transport/parameter_client.h"
#include "transport/server_channel.h"
#include "transport/shard_map.h"
#include "transport/stage_message.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kWorkers = 3;

JobConfig Job(int num_workers, int num_servers) {
  JobConfig config = PatientJob(num_workers);
  config.mutable_cluster()->set_num_servers(num_servers);
  config.mutable_cluster()->set_max_slice_elements(1024);
  config.mutable_cluster()->set_credit_megabytes(1);
  config.mutable_training()->mutable_layer_parallel()->set_stages(num_workers);
  return config;
}

ParameterClientOptions ClientOptions(const JobConfig& config,
                                     std::vector<std::string> servers,
                                     int rank) {
  ParameterClientOptions options;
  options.servers = std::move(servers);
  options.worker_rank = rank;
  options.num_workers = config.cluster().num_workers();
  options.incarnation = 100 + rank;
  options.name = absl::StrCat("test:", rank);
  options.config_text = SharedConfigText(config);
  options.total_iterations = 10;
  options.max_slice_elements = config.cluster().max_slice_elements();
  options.credit_bytes =
      static_cast<int64_t>(config.cluster().credit_megabytes() * (1 << 20));
  options.startup_timeout = options.lost_server_timeout = absl::Seconds(60);
  // Nobody hears of anything because it looks again after a while.
  options.patience = absl::Hours(1);
  return options;
}

ShardMap MapFor(const JobConfig& config) {
  ShardMapOptions options;
  options.bucket_sizes = {3000};
  options.num_servers = config.cluster().num_servers();
  options.max_slice_elements = config.cluster().max_slice_elements();
  return *ShardMap::Create(options);
}

// Loses every seventh answer of the Aux service, and makes every fifth call of
// it twice.
class UnreliableChannel final : public ServerChannel {
 public:
  explicit UnreliableChannel(std::unique_ptr<ServerChannel> channel)
      : channel_(std::move(channel)) {}

  void Open(int connection) override { channel_->Open(connection); }
  void Attend(const AttendRequest& request, absl::Duration timeout,
              AttendHandler handler) override {
    channel_->Attend(request, timeout, std::move(handler));
  }
  void Close(absl::Duration timeout) override { channel_->Close(timeout); }

  void Start(const RpcRequest& request, Done done) override {
    if (request.rpc != Rpc::kAuxPut && request.rpc != Rpc::kAuxGet) {
      channel_->Start(request, std::move(done));
      return;
    }
    int64_t call = 0;
    {
      MutexLock lock(&mu_);
      call = ++calls_;
    }
    if (call % 5 == 0) channel_->Start(request, [](const auto&) {});
    if (call % 7 == 0) {
      done = [done = std::move(done)](const auto&) {
        done(absl::UnavailableError("the answer was lost"));
      };
    }
    channel_->Start(request, std::move(done));
  }

 private:
  const std::unique_ptr<ServerChannel> channel_;
  Mutex mu_;
  int64_t calls_ ABSL_GUARDED_BY(mu_) = 0;
};

// The ends of kWorkers workers.
class Exchanges {
 public:
  virtual ~Exchanges() = default;
  virtual StageExchange* For(int rank) = 0;
  virtual void Fail() = 0;
};

class InProcess final : public Exchanges {
 public:
  StageExchange* For(int rank) override { return ends_.For(rank); }
  void Fail() override { ends_.Fail(absl::AbortedError("the test is over")); }

 private:
  LocalExchanges ends_{kWorkers};
};

class OverServers final : public Exchanges {
 public:
  OverServers(int num_servers, bool reliable)
      : config_(Job(kWorkers, num_servers)), map_(MapFor(config_)) {
    std::vector<std::string> addresses;
    for (int i = 0; i < num_servers; ++i) {
      servers_.push_back(std::make_unique<RunningServer>(config_, i));
      addresses.push_back(servers_.back()->address());
    }
    for (int rank = 0; rank < kWorkers; ++rank) {
      ParameterClientOptions options = ClientOptions(config_, addresses, rank);
      if (!reliable) {
        options.new_channel = [](const ServerChannelOptions& channel) {
          return std::make_unique<UnreliableChannel>(
              NewGrpcServerChannel(channel));
        };
      }
      auto client = ParameterClient::Connect(options, &map_);
      EXPECT_TRUE(client.ok()) << client.status();
      clients_.push_back(*std::move(client));
    }
  }

  StageExchange* For(int rank) override {
    return clients_[rank]->stage_exchange();
  }
  void Fail() override {
    for (const auto& server : servers_) server->Stop();
  }

 private:
  const JobConfig config_;
  const ShardMap map_;
  std::vector<std::unique_ptr<RunningServer>> servers_;
  std::vector<std::unique_ptr<ParameterClient>> clients_;
};

struct Kind {
  std::string name;
  std::function<std::unique_ptr<Exchanges>()> make;
};

std::vector<Kind> Kinds() {
  return {
      {"InProcess", [] { return std::make_unique<InProcess>(); }},
      {"OverOneServer",
       [] { return std::make_unique<OverServers>(1, /*reliable=*/true); }},
      {"OverTwoServers",
       [] { return std::make_unique<OverServers>(2, /*reliable=*/true); }},
      {"OverServersThatLoseAnswers",
       [] { return std::make_unique<OverServers>(2, /*reliable=*/false); }},
  };
}

// Values with every kind of bits.
std::vector<float> Values(int64_t size, uint32_t seed) {
  std::vector<float> values(size);
  for (uint32_t i = 0; i < size; ++i) {
    const uint32_t bits = (i + seed) * 2654435761U;
    std::memcpy(&values[i], &bits, sizeof(bits));
  }
  return values;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() ||
          std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

class StageExchangeTest : public ::testing::TestWithParam<Kind> {
 protected:
  void Put(int from, int to, int stream, int64_t number,
           const std::vector<float>& values) {
    const absl::Status put = all_->For(from)->Put(to, stream, number, values);
    EXPECT_TRUE(put.ok()) << put;
  }
  std::vector<float> Get(int to, int from, int stream, int64_t number,
                         int64_t size) {
    std::vector<float> values(size, -1);
    const absl::Status got =
        all_->For(to)->Get(from, stream, number, absl::MakeSpan(values));
    EXPECT_TRUE(got.ok()) << got;
    return values;
  }

  const std::unique_ptr<Exchanges> all_ = GetParam().make();
};

TEST_P(StageExchangeTest, ArraysArriveWithTheSameBits) {
  int64_t number = 17;
  for (const int64_t size : {0, 1, 1023, 1024, 1025, 2048, 5000}) {
    Put(0, 1, 0, number, Values(size, 3));
    Put(1, 0, 0, number, Values(size, 4));
    EXPECT_TRUE(SameBits(Get(1, 0, 0, number, size), Values(size, 3)));
    EXPECT_TRUE(SameBits(Get(0, 1, 0, number, size), Values(size, 4)));
    ++number;
  }
}

TEST_P(StageExchangeTest, NumbersAscendWithGapsAndARepeatChangesNothing) {
  Put(0, 1, 2, 3, {1});
  Put(0, 1, 2, 3, {2});
  Put(0, 1, 2, 2, {3});
  Put(0, 1, 2, 7, {4});
  EXPECT_EQ(Get(1, 0, 2, 3, 1), std::vector<float>{1});
  EXPECT_EQ(Get(1, 0, 2, 7, 1), std::vector<float>{4});
}

TEST_P(StageExchangeTest, WhatPrecedesIsForgotten) {
  for (int64_t number = 0; number < 3; ++number) {
    Put(0, 1, 0, number, Values(3000, number));
  }
  EXPECT_TRUE(SameBits(Get(1, 0, 0, 2, 3000), Values(3000, 2)));
  std::vector<float> values(3000);
  for (const int64_t number : {1, 2}) {
    const absl::Status status =
        all_->For(1)->Get(0, 0, number, absl::MakeSpan(values));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
  Put(0, 1, 0, 3, Values(3, 3));
  EXPECT_TRUE(SameBits(Get(1, 0, 0, 3, 3), Values(3, 3)));
}

TEST_P(StageExchangeTest, WorkersAndStreamsAreApart) {
  const auto each = [](const auto& visit) {
    for (int from = 0; from < kWorkers; ++from) {
      for (int to = 0; to < kWorkers; ++to) {
        for (int stream = 0; stream < kNumStageStreams; ++stream) {
          if (from != to)
            visit(from, to, stream, 100 * from + 10 * to + stream);
        }
      }
    }
  };
  each([&](int from, int to, int stream, float value) {
    Put(from, to, stream, 5, {value});
  });
  each([&](int from, int to, int stream, float value) {
    EXPECT_EQ(Get(to, from, stream, 5, 1), std::vector<float>{value});
  });
}

TEST_P(StageExchangeTest, AGetWaitsForThePut) {
  std::thread getting([this] {
    for (int64_t number = 0; number < 20; ++number) {
      const std::vector<float> got = Get(1, 0, 0, number, 2000);
      EXPECT_TRUE(SameBits(got, Values(2000, number)));
      Put(1, 0, 1, number, got);
    }
  });
  for (int64_t number = 0; number < 20; ++number) {
    Put(0, 1, 0, number, Values(2000, number));
    EXPECT_TRUE(SameBits(Get(0, 1, 1, number, 2000), Values(2000, number)));
  }
  getting.join();
}

// Much more is under way than a server takes, and what is asked for was sent
// last.
TEST_P(StageExchangeTest, WhateverIsAskedForComes) {
  constexpr int64_t kSize = 3000;
  constexpr int64_t kArrays = 12;
  for (int stream = 0; stream < kNumStageStreams; ++stream) {
    for (int64_t number = 0; number < kArrays; ++number) {
      Put(0, 1, stream, number, Values(kSize, 100 * stream + number));
      Put(2, 1, stream, number, Values(kSize, 100 * stream + number + 1));
    }
  }
  for (int stream = kNumStageStreams - 1; stream >= 0; --stream) {
    for (int64_t number = 0; number < kArrays; ++number) {
      EXPECT_TRUE(SameBits(Get(1, 0, stream, number, kSize),
                           Values(kSize, 100 * stream + number)));
    }
  }
  EXPECT_TRUE(
      SameBits(Get(1, 2, 3, kArrays - 1, kSize), Values(kSize, 300 + kArrays)));
}

TEST_P(StageExchangeTest, WhatDoesNotExistIsRefused) {
  StageExchange* const end = all_->For(1);
  float value = 0;
  std::vector<absl::Status> results;
  const auto both = [&](int peer, int stream, int64_t number) {
    results.push_back(end->Put(peer, stream, number, {value}));
    results.push_back(end->Get(peer, stream, number, {&value, 1}));
  };
  both(1, 0, 0);
  both(-1, 0, 0);
  both(kWorkers, 0, 0);
  both(0, -1, 0);
  both(0, kNumStageStreams, 0);
  both(0, 0, -1);
  for (const absl::Status& status : results) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
}

TEST_P(StageExchangeTest, AnotherSizeIsRefused) {
  Put(0, 1, 0, 5, Values(1500, 0));
  std::vector<float> values(1024);
  const absl::Status status =
      all_->For(1)->Get(0, 0, 5, absl::MakeSpan(values));
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("1500 values"), HasSubstr("1024 are expected")));
}

TEST_P(StageExchangeTest, WhoeverWaitsHearsThatTheJobFailed) {
  std::vector<absl::Status> results(kNumStageStreams);
  std::vector<std::thread> waiting;
  for (int stream = 0; stream < kNumStageStreams; ++stream) {
    waiting.emplace_back([this, stream, &results] {
      float value = 0;
      results[stream] = all_->For(1)->Get(0, stream, 0, {&value, 1});
    });
  }
  all_->Fail();
  for (std::thread& thread : waiting) thread.join();
  for (const absl::Status& status : results) {
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("test is over"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, StageExchangeTest, ::testing::ValuesIn(Kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST(LocalExchangesTest, KeepsWhatWasNotForgotten) {
  LocalExchanges ends(2);
  std::vector<float> value = {1};
  for (int64_t number = 0; number < 3; ++number) {
    ASSERT_TRUE(ends.For(0)->Put(1, 0, number, value).ok());
  }
  EXPECT_EQ(ends.num_kept(), 3);
  ASSERT_TRUE(ends.For(1)->Get(0, 0, 1, absl::MakeSpan(value)).ok());
  EXPECT_EQ(ends.num_kept(), 2);
}

// A server of two workers that are registered, without the rest of one. What it
// keeps goes with it, as with a process that is killed, and the one after it is
// the same server to its workers.
class KilledServer {
 public:
  explicit KilledServer(const JobConfig& config, int port = 0)
      : membership_(Members()), callers_(Options(config)) {
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_TRUE(membership_.Register(rank, 100 + rank, "test").ok());
    }
    AuxCallsOptions options;
    options.limits =
        StageLimitsFor(2, 1, 1 << 20, config.cluster().max_slice_elements());
    options.callers = &callers_;
    calls_ = std::make_unique<AuxCalls>(options);
    service_ = std::make_unique<AuxService>(
        [this](Rpc rpc, const Caller& caller, const grpc::ByteBuffer& request,
               HeldCall::Answer answer) {
          const auto call = std::make_shared<HeldCall>(std::move(answer));
          if (rpc == Rpc::kAuxPut) {
            calls_->Put(caller, request, call);
          } else {
            calls_->Get(caller, request, call);
          }
          return call;
        });
    server_ = std::make_unique<FakeServer>(port, service_.get());
  }
  ~KilledServer() { server_ = nullptr; }

  int port() const { return server_->port(); }
  std::string address() const { return server_->address(); }

 private:
  static MembershipOptions Members() {
    MembershipOptions options;
    options.num_workers = 2;
    options.startup_timeout = absl::InfiniteDuration();
    options.lost_worker_timeout = absl::InfiniteDuration();
    return options;
  }

  CallersOptions Options(const JobConfig& config) {
    CredentialsOptions identity;
    identity.config = &config;
    identity.self = {config.name(), Role::kServer, 0};
    identity.listen = "127.0.0.1:0";
    credentials_ = *Credentials::Create(identity);
    CallersOptions options;
    options.credentials = credentials_.get();
    options.membership = &membership_;
    return options;
  }

  std::shared_ptr<const Credentials> credentials_;
  Membership membership_;
  const Callers callers_;
  std::unique_ptr<AuxCalls> calls_;
  std::unique_ptr<AuxService> service_;
  std::unique_ptr<FakeServer> server_;
};

TEST(RestartedServerTest, GetsAgainWhatItKeptAndWhatItWasAskedFor) {
  constexpr int64_t kSize = 3000;
  const JobConfig config = Job(2, 1);
  auto server = std::make_unique<KilledServer>(config);
  const int port = server->port();
  const ShardMap map = MapFor(config);
  std::vector<std::unique_ptr<ParameterClient>> clients;
  for (int rank = 0; rank < 2; ++rank) {
    ParameterClientOptions options =
        ClientOptions(config, {server->address()}, rank);
    // Says almost at once whom it waits for.
    options.patience = absl::Milliseconds(20);
    auto client = ParameterClient::Connect(options, &map);
    ASSERT_TRUE(client.ok()) << client.status();
    clients.push_back(*std::move(client));
  }
  StageExchange* const sender = clients[0]->stage_exchange();
  StageExchange* const receiver = clients[1]->stage_exchange();
  const auto get = [&](int stream, int64_t number) {
    std::vector<float> values(kSize);
    const absl::Status got =
        receiver->Get(0, stream, number, absl::MakeSpan(values));
    EXPECT_TRUE(got.ok()) << got;
    EXPECT_TRUE(SameBits(values, Values(kSize, number))) << number;
  };
  for (int64_t number = 0; number < 10; ++number) {
    ASSERT_TRUE(sender->Put(1, 0, number, Values(kSize, number)).ok());
  }
  for (int64_t number = 0; number < 4; ++number) get(0, number);
  // Waits from the first server to the last.
  std::thread waiting([&] { get(1, 0); });
  for (int64_t number = 4; number < 10; ++number) {
    server = nullptr;
    server = std::make_unique<KilledServer>(config, port);
    get(0, number);
  }
  ASSERT_TRUE(sender->Put(1, 1, 0, Values(kSize, 0)).ok());
  waiting.join();
}

}  // namespace
}  // namespace ps
