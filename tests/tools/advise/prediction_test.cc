// Compares with times computed by hand.
#include "tools/advise/prediction.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/shard_map.h"

namespace ps {
namespace {

using ::testing::ElementsAre;

// Frames of 1514 bytes carry 1448, so that 1,448,000 bytes a second remain.
constexpr double kBitsPerSecond = 8 * 1'514'000;
constexpr double kBytesPerSecond = 1'448'000;

JobConfig Job(int workers, int servers) {
  JobConfig job;
  job.mutable_cluster()->set_num_workers(workers);
  job.mutable_cluster()->set_num_servers(servers);
  return job;
}

// A second of messages each way for each worker of Job(2, 2).
LocalMeasures Measures() {
  LocalMeasures measures;
  measures.iteration = 7.5;
  measures.compute = 6;
  measures.codec = 1;
  measures.await = 0.5;
  measures.bytes_up = 2 * kBytesPerSecond;
  measures.bytes_down = 2 * kBytesPerSecond;
  measures.num_parameters = 1000;
  return measures;
}

JobNetwork Network() {
  JobNetwork network;
  network.bits_per_second = kBitsPerSecond;
  return network;
}

SettingPrediction Predicted(
    const JobConfig& job, const JobNetwork& network,
    const std::optional<LocalMeasures>& own = std::nullopt) {
  const auto prediction = PredictSetting(job, Measures(), own, network);
  EXPECT_TRUE(prediction.ok()) << prediction.status();
  return prediction.value_or(SettingPrediction());
}

TEST(Prediction, OnThisMachineIsWhatWasMeasured) {
  const SettingPrediction local = Predicted(Job(2, 2), JobNetwork());
  EXPECT_EQ(local.iteration, 7.5);
  EXPECT_EQ(local.up, 0);
  EXPECT_STREQ(local.Bottleneck(), "compute");
}

TEST(Prediction, ANetworkAddsTheTimeOfItsMessages) {
  LocalMeasures measures = Measures();
  measures.num_parameters = 2 * ShardMap::kElementsPerSlice;
  const auto prediction =
      PredictSetting(Job(2, 2), measures, std::nullopt, Network());
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  const SettingPrediction& slow = *prediction;
  EXPECT_NEAR(slow.up, 1, 1e-9);
  EXPECT_NEAR(slow.down, 1, 1e-9);
  // A slice for each server, up and then down. A worker that has its answers
  // early works meanwhile.
  EXPECT_LE(slow.iteration, 7 + 2 + 1e-9);
  EXPECT_GT(slow.iteration, 7 + 1);
  EXPECT_EQ(slow.compute, 6);
  EXPECT_EQ(slow.codec, 1);
  EXPECT_TRUE(slow.busiest_up.of_server);
}

TEST(Prediction, OneServerCarriesTheMessagesOfAllWorkers) {
  const SettingPrediction slow = Predicted(Job(2, 1), Network());
  EXPECT_NEAR(slow.up, 2, 1e-9);
  EXPECT_LE(slow.iteration, 7 + 4 + 1e-9);
  EXPECT_GT(slow.iteration, 7 + 2);
  EXPECT_STREQ(slow.Bottleneck(), "compute");
  JobNetwork slower = Network();
  *slower.bits_per_second /= 10;
  const SettingPrediction bound = Predicted(Job(2, 1), slower);
  EXPECT_TRUE(std::string(bound.Bottleneck()) == "up" ||
              std::string(bound.Bottleneck()) == "down");
}

TEST(Prediction, OneWorkerWorksSendsAndReceivesInTurn) {
  EXPECT_NEAR(Predicted(Job(1, 1), Network()).iteration, 7 + 2 + 2, 1e-9);
  // A fast network is not faster than none.
  JobNetwork fast;
  fast.bits_per_second = 1e12;
  EXPECT_EQ(Predicted(Job(1, 1), fast).iteration, 7.5);
}

TEST(Prediction, WorkersThatWaitLeaveTheProcessorsToOthers) {
  JobNetwork slow = Network();
  *slow.bits_per_second /= 10;
  LocalMeasures measures = Measures();
  measures.contention = 2;
  const auto shared = PredictSetting(Job(2, 1), measures, std::nullopt, slow);
  ASSERT_TRUE(shared.ok()) << shared.status();
  const SettingPrediction alone = Predicted(Job(2, 1), slow);
  EXPECT_LT(shared->iteration, alone.iteration - 1);
  EXPECT_GT(shared->iteration, alone.iteration - 7.0 / 2 - 1e-9);
}

TEST(Prediction, WorkersOnTheirOwnMachinesComputeAsMeasuredThere) {
  LocalMeasures own = Measures();
  own.compute = 2;
  own.codec = 0.25;
  own.bytes_down = 0;  // Depends on the number of workers and is not used.
  const SettingPrediction slow = Predicted(Job(1, 1), Network(), own);
  EXPECT_EQ(slow.compute, 2);
  EXPECT_NEAR(slow.iteration, 2 + 0.25 + 4, 1e-9);
  // Without a network the server is waited for.
  LocalMeasures shared = Measures();
  shared.server = 0.5;
  const auto local = PredictSetting(Job(1, 1), shared, own, JobNetwork());
  ASSERT_TRUE(local.ok()) << local.status();
  EXPECT_EQ(local->iteration, 2.75);
}

TEST(Prediction, ServersAndMessagesTakeProcessors) {
  LocalMeasures own = Measures();
  LocalMeasures shared = Measures();
  shared.server = 0.5;
  shared.latency = 0.25;
  const auto waits = PredictSetting(Job(1, 1), shared, own, Network());
  ASSERT_TRUE(waits.ok()) << waits.status();
  EXPECT_NEAR(waits->iteration, 7 + 2 + 2 + 0.5 + 0.25, 1e-9);
  EXPECT_NEAR(waits->server, 0.5 / 2, 1e-9) << "of two threads";
  // As much as a link of half the bandwidth.
  shared.processors = 1;
  shared.messages = 8;
  const auto copies = PredictSetting(Job(1, 1), shared, own, Network());
  ASSERT_TRUE(copies.ok()) << copies.status();
  EXPECT_NEAR(copies->iteration, 7 + 4 + 4 + 0.5 + 0.25, 1e-9);
  EXPECT_NEAR(copies->server, 8.5, 1e-9);
  EXPECT_STREQ(copies->Bottleneck(), "server");
}

TEST(Prediction, AThousandWorkersAreRepresentedByAFew) {
  LocalMeasures measures = Measures();
  measures.bytes_up = measures.bytes_down = 1000 * kBytesPerSecond;
  const auto exchange = ExchangeOf(Job(1000, 1), measures, HostLink());
  ASSERT_TRUE(exchange.ok()) << exchange.status();
  EXPECT_LT(exchange->workers.size(), 50u);
  EXPECT_DOUBLE_EQ(
      exchange->workers_each * static_cast<double>(exchange->workers.size()),
      1000);
  const auto slow = PredictSetting(Job(1000, 1), measures, measures, Network());
  ASSERT_TRUE(slow.ok()) << slow.status();
  EXPECT_NEAR(slow->up, 1000, 1e-6);
  EXPECT_NEAR(slow->busiest_down.bytes, 1000 * kBytesPerSecond, 1);
  EXPECT_GE(slow->iteration, 1000);
  EXPECT_LE(slow->iteration, 7 + 2000);
}

TEST(Prediction, LocalStepsShareOneExchange) {
  JobConfig job = Job(1, 1);
  job.mutable_consistency()->set_local_steps(4);
  const SettingPrediction slow = Predicted(job, Network());
  EXPECT_NEAR(slow.iteration, 7 + 4, 1e-9) << "bytes are per iteration";
  const auto exchange = ExchangeOf(job, Measures(), HostLink());
  ASSERT_TRUE(exchange.ok()) << exchange.status();
  ASSERT_EQ(exchange->slices.size(), 1u);
  EXPECT_DOUBLE_EQ(exchange->slices[0].up_bytes, 8 * kBytesPerSecond);
}

TEST(Prediction, SlicesAreThoseOfTheJob) {
  JobConfig job = Job(2, 2);
  job.mutable_cluster()->set_max_slice_elements(1024);
  job.mutable_cluster()->set_connections(3);
  LocalMeasures measures = Measures();
  measures.num_parameters = 4096;
  const auto exchange = ExchangeOf(job, measures, HostLink());
  ASSERT_TRUE(exchange.ok()) << exchange.status();
  ASSERT_EQ(exchange->slices.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(exchange->slices[i].server, i % 2);
    EXPECT_EQ(exchange->slices[i].connection, i / 2 % 3);
    EXPECT_DOUBLE_EQ(exchange->slices[i].down_bytes, kBytesPerSecond / 4);
  }
}

TEST(Prediction, ShortMessagesFollowOneAnother) {
  JobConfig job = Job(1, 1);
  job.mutable_cluster()->set_max_slice_elements(1024);
  job.mutable_cluster()->set_connections(3);
  LocalMeasures measures = Measures();
  measures.num_parameters = 4096;
  const auto connection = [&](double bytes, double rate) {
    measures.bytes_up = measures.bytes_down = 4 * bytes;
    HostLink link;
    link.up_bytes_per_second = link.down_bytes_per_second = rate;
    return ExchangeOf(job, measures, link)->slices[2].connection;
  };
  EXPECT_EQ(connection(60e3, 12e6), 0);
  EXPECT_EQ(connection(70e3, 12e6), 2);
  EXPECT_EQ(connection(240e3, 125e6), 0) << "what passes in 2 ms";
  EXPECT_EQ(connection(260e3, 125e6), 2);
}

TEST(Prediction, BucketsGoOutDuringTheBackwardPass) {
  JobConfig job = Job(1, 1);
  // Four buckets of one slice each.
  job.mutable_training()->set_bucket_megabytes(ShardMap::kElementsPerSlice *
                                               4.0 / (1 << 20));
  LocalMeasures measures = Measures();
  measures.num_parameters = 4 * ShardMap::kElementsPerSlice;
  const auto exchange = ExchangeOf(job, measures, HostLink());
  ASSERT_TRUE(exchange.ok()) << exchange.status();
  ASSERT_EQ(exchange->slices.size(), 4u);
  // The backward pass takes 4 of the 6 seconds.
  EXPECT_DOUBLE_EQ(exchange->slices[0].ready_seconds, 0);
  EXPECT_DOUBLE_EQ(exchange->slices[3].ready_seconds, 3);
  const auto hidden = PredictSetting(job, measures, std::nullopt, Network());
  ASSERT_TRUE(hidden.ok()) << hidden.status();
  // 2 s of messages each way; only the last bucket is not hidden.
  EXPECT_NEAR(hidden->iteration, 7 + 2.0 / 4 * 2, 1e-6);
}

TEST(TakeLeastCompute, OfSettingsThatComputeTheSame) {
  std::vector<SettingMeasures> settings(4);
  for (SettingMeasures& setting : settings) {
    setting.config = Job(2, 1);
    setting.own = Measures();
  }
  settings[1].config.mutable_compressor()->set_name("topk");
  settings[1].own->compute = 4;
  settings[2].config.mutable_training()->set_batch_size(7);
  settings[2].own->compute = 1;
  settings[3].own.reset();
  TakeLeastCompute(&settings);
  EXPECT_EQ(settings[0].own->compute, 4);
  EXPECT_EQ(settings[1].own->compute, 4);
  EXPECT_EQ(settings[2].own->compute, 1);
  EXPECT_FALSE(settings[3].own.has_value());
}

SettingPrediction Taking(double seconds) {
  SettingPrediction setting;
  setting.iteration = seconds;
  return setting;
}

TEST(MiddleTurn, HasTheSpreadOfAll) {
  std::vector<SettingPrediction> turns = {Taking(3), Taking(1), Taking(2)};
  turns[0].compute = 0.5;
  turns[1].compute = 0.2;
  turns[2].compute = 0.3;
  const SettingPrediction middle = MiddleTurn(turns);
  EXPECT_EQ(middle.iteration, 2);
  EXPECT_EQ(middle.compute, 0.3);
  EXPECT_THAT(middle.iterations, ElementsAre(3, 1, 2));
  EXPECT_DOUBLE_EQ(middle.compute_spread, 2.5);
  EXPECT_DOUBLE_EQ(MiddleTurn({Taking(1)}).compute_spread, 1);
}

// Within the noise, nothing is faster.
TEST(Recommended, IsFasterInEveryTurn) {
  const auto in_turns = [](std::vector<double> seconds) {
    std::vector<SettingPrediction> turns;
    for (const double each : seconds) turns.push_back(Taking(each));
    return MiddleTurn(turns);
  };
  EXPECT_EQ(Recommended({in_turns({1.0, 2.0, 1.5}), in_turns({0.5, 1.0, 0.7})}),
            1u);
  EXPECT_EQ(Recommended({in_turns({1.0, 2.0, 1.5}), in_turns({0.5, 2.0, 0.7})}),
            0u);
}

TEST(Recommended, IsTheFirstThatIsNearlyTheFastest) {
  EXPECT_EQ(Recommended({Taking(1)}), 0u);
  EXPECT_EQ(Recommended({Taking(1), Taking(0.97), Taking(1.5)}), 0u);
  EXPECT_EQ(Recommended({Taking(1), Taking(0.9), Taking(0.5)}), 2u);
  EXPECT_EQ(Recommended({Taking(1), Taking(0.51), Taking(0.5)}), 1u);
}

}  // namespace
}  // namespace ps
