// Simulated workers against real servers, all in one process.
#include "tools/bench/load/replay_group.h"

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/server.h"
#include "tools/bench/load/gradient_source.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kWorkers = 5;
constexpr int kServers = 2;

class ReplayGroupTest : public testing::Test {
 protected:
  ReplayGroupTest() {
    ShardMapOptions map;
    map.bucket_sizes = {7000, 3001};
    map.num_servers = kServers;
    map.max_slice_elements = 1024;
    shard_map_ = std::make_unique<ShardMap>(*ShardMap::Create(map));
    job_.mutable_cluster()->set_num_workers(kWorkers);
    job_.mutable_cluster()->set_num_servers(kServers);
    job_.mutable_cluster()->set_max_slice_elements(1024);
    job_.mutable_optimizer()->set_name("sgd");
    job_.mutable_optimizer()->set_learning_rate(1);
    job_.mutable_compressor()->set_name("sidco_e");
    job_.mutable_compressor()->set_ratio(0.01);
    job_.mutable_downlink()->set_mode(DownlinkConfig::UPDATE);
    job_.mutable_security()->set_mode(SecurityConfig::INSECURE);
  }

  ~ReplayGroupTest() override {
    for (std::thread& thread : waiting_) thread.join();
  }

  // The servers end with the job.
  void StartServers() {
    for (int i = 0; i < kServers; ++i) {
      ServerOptions options;
      options.config = job_;
      options.index = i;
      options.listen = "127.0.0.1:0";
      auto server = Server::Start(options);
      ASSERT_TRUE(server.ok()) << server.status();
      servers_.push_back(*std::move(server));
    }
    for (const auto& server : servers_) {
      job_.mutable_cluster()->add_servers(server->address());
      waiting_.emplace_back([&server] { static_cast<void>(server->Wait()); });
    }
  }

  // The job with its servers. The payloads are those of the map, by default the
  // job's.
  std::unique_ptr<Replay> ReplayOf(uint64_t seed,
                                   const ShardMap* map = nullptr) {
    const auto source = GeneratedGradients(seed);
    ReplayOptions options;
    options.config = job_;
    options.shard_map = map == nullptr ? shard_map_.get() : map;
    options.source = source.get();
    options.ring = 3;
    options.bytes = 1 << 30;
    auto payloads = ReplayPayloads::Make(options);
    EXPECT_TRUE(payloads.ok()) << payloads.status();
    return std::make_unique<Replay>(
        Replay{job_, *shard_map_, *std::move(payloads)});
  }

  void RunAndCheck() {
    StartServers();
    const auto replay = ReplayOf(1);
    ReplayGroup group(replay.get(), 0, kWorkers);
    absl::Status status = group.Join();
    ASSERT_TRUE(status.ok()) << status;
    // More than one ring, in two calls.
    for (const int64_t iterations : {5, 2}) {
      status = group.Iterate(iterations);
      ASSERT_TRUE(status.ok()) << status;
    }
    counts_ = group.TakeCounts();
    status = group.Check();
    EXPECT_TRUE(status.ok()) << status;
    status = group.Finish();
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(group.TakeCounts().pushes, 0);
    num_slices_ = static_cast<int64_t>(shard_map_->slices(0).size() +
                                       shard_map_->slices(1).size());
    payload_bytes_ = 0;
    for (int rank = 0; rank < kWorkers; ++rank) {
      for (int64_t i = 0; i < 7; ++i) {
        payload_bytes_ += replay->payloads.IterationBytes(rank, i);
      }
    }
  }

  JobConfig job_;
  std::unique_ptr<ShardMap> shard_map_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::thread> waiting_;
  ReplayCounts counts_;
  int64_t num_slices_ = 0;
  int64_t payload_bytes_ = 0;
};

TEST_F(ReplayGroupTest, EverythingIsPushedCountedAndRight) {
  RunAndCheck();
  EXPECT_EQ(counts_.pushes, 7 * kWorkers * num_slices_);
  EXPECT_EQ(counts_.push.count(), counts_.pushes);
  EXPECT_EQ(counts_.iteration.count(), 7 * kWorkers);
  EXPECT_EQ(counts_.payload_bytes, payload_bytes_);
  EXPECT_GT(counts_.answer_bytes, 0);
  EXPECT_GT(counts_.push.Quantile(0.5), 0);
  // An iteration waits for all of its pushes.
  EXPECT_GE(counts_.iteration.largest(), counts_.push.largest());
}

TEST_F(ReplayGroupTest, SoWithAllWeightsInEveryAnswer) {
  job_.mutable_downlink()->set_mode(DownlinkConfig::WEIGHTS);
  RunAndCheck();
  EXPECT_GT(counts_.answer_bytes, 7 * kWorkers * 4 * 10001);
}

TEST_F(ReplayGroupTest, SoWithDensePushes) {
  job_.mutable_compressor()->set_name("none");
  RunAndCheck();
}

TEST_F(ReplayGroupTest, AnswersWithDifferencesAreAddedUp) {
  job_.mutable_downlink()->set_mode(DownlinkConfig::COMPRESSED);
  job_.mutable_downlink()->mutable_compressor()->set_name("topk");
  job_.mutable_downlink()->mutable_compressor()->set_ratio(0.05);
  RunAndCheck();
}

TEST_F(ReplayGroupTest, AWorkerThatPushesSomethingElseIsFoundOut) {
  StartServers();
  const auto replay = ReplayOf(1);
  const auto others = ReplayOf(2);
  ReplayGroup group(replay.get(), 0, kWorkers - 1);
  ReplayGroup odd(others.get(), kWorkers - 1, kWorkers);
  absl::Status odd_status;
  std::thread odd_thread([&] {
    odd_status = odd.Join();
    if (odd_status.ok()) odd_status = odd.Iterate(2);
  });
  EXPECT_TRUE(group.Join().ok());
  EXPECT_TRUE(group.Iterate(2).ok());
  const absl::Status status = group.Check();
  odd_thread.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(StartsWith("worker 0: element "),
                    HasSubstr(" of 10001 is "), HasSubstr("; must be ")));
  EXPECT_TRUE(odd_status.ok()) << odd_status;
}

TEST_F(ReplayGroupTest, AWorkerThatFailsEndsTheOthersWithItsReason) {
  StartServers();
  const auto replay = ReplayOf(1);
  // Equally many slices with other sizes, so that servers refuse the pushes.
  ShardMapOptions options;
  options.bucket_sizes = {6990, 3011};
  options.num_servers = kServers;
  options.max_slice_elements = 1024;
  const ShardMap wrong_map = *ShardMap::Create(options);
  const auto wrong = ReplayOf(1, &wrong_map);

  ReplayGroup group(replay.get(), 0, kWorkers - 1);
  ReplayGroup odd(wrong.get(), kWorkers - 1, kWorkers);
  absl::Status odd_status;
  std::thread joins([&] { odd_status = odd.Join(); });
  EXPECT_TRUE(group.Join().ok());
  joins.join();
  ASSERT_TRUE(odd_status.ok()) << odd_status;
  std::thread fails([&] { odd_status = odd.Iterate(1); });
  // This would wait for ever for the worker that has failed.
  const absl::Status status = group.Iterate(1);
  fails.join();
  EXPECT_THAT(std::string(odd_status.message()), StartsWith("worker 4: "));
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()),
              AllOf(StartsWith("worker "), HasSubstr("worker 4")));
}

TEST_F(ReplayGroupTest, AWorkerWithAnotherJobIsRefused) {
  StartServers();
  const auto replay = ReplayOf(1);
  replay->job.mutable_optimizer()->set_learning_rate(0.5);
  ReplayGroup odd(replay.get(), 0, 1);
  const absl::Status refused = odd.Join();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(StartsWith("worker 0: "), HasSubstr("optimizer.learning_rate")));
  // No other worker joins.
  for (const auto& server : servers_) {
    server->Stop(absl::CancelledError("stopped by the test"));
  }
}

}  // namespace
}  // namespace ps
