// Slices for which each push is an update: which answers wait for whom, what
// they contain, and that each push counts once.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/slices/weight_slice.h"
#include "tests/server/slice_calls.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two workers and learning rate 2. Each push moves the weights by minus its
// gradient, because each worker's rate is half of that.
class StaleSliceTest : public ::testing::Test {
 protected:
  StaleSliceTest() {
    config_.mutable_cluster()->set_num_workers(2);
    config_.mutable_optimizer()->set_learning_rate(2);
  }

  std::unique_ptr<WeightSlice> Asynchronous(int64_t num_elements) {
    config_.mutable_consistency()->set_mode(ConsistencyConfig::ASYNCHRONOUS);
    return New(num_elements);
  }

  std::unique_ptr<WeightSlice> Bounded(int staleness) {
    config_.mutable_consistency()->set_mode(
        ConsistencyConfig::STALE_SYNCHRONOUS);
    config_.mutable_consistency()->set_staleness(staleness);
    return New(1);
  }

  std::unique_ptr<WeightSlice> New(int64_t num_elements) {
    auto slice =
        std::make_unique<WeightSlice>(OptionsOf(config_, num_elements));
    EXPECT_TRUE(
        Initialize(slice.get(), Dense(std::vector<float>(num_elements))).ok());
    return slice;
  }

  JobConfig config_;
};

WorkerPush PushFrom(int rank, int64_t iteration, int64_t base_version,
                    float value) {
  WorkerPush push = PushOf(rank, iteration, {value});
  push.base_version = base_version;
  return push;
}

TEST_F(StaleSliceTest, NobodyWaitsAndStalenessIsCounted) {
  const auto slice = Asynchronous(1);
  Answers first;
  slice->Push(PushFrom(0, 0, 0, 1), first.Taker());
  ASSERT_TRUE(first.OnlyStatus().ok());
  EXPECT_EQ(first.Get()[0]->version, 1);
  EXPECT_EQ(first.Get()[0]->staleness, 0);
  EXPECT_THAT(WeightsOf(*first.Get()[0]), ElementsAre(-1));
  Answers again;
  slice->Push(PushFrom(0, 1, 1, 1), again.Taker());
  Answers other;
  slice->Push(PushFrom(1, 0, 0, 4), other.Taker());
  ASSERT_TRUE(other.OnlyStatus().ok());
  // Two updates of worker 0 were applied before.
  EXPECT_EQ(other.Get()[0]->staleness, 2);
  EXPECT_EQ(other.Get()[0]->version, 3);
  EXPECT_THAT(WeightsOf(*other.Get()[0]), ElementsAre(-6));
}

TEST_F(StaleSliceTest, TheScheduleCountsIterationsNotPushes) {
  config_.mutable_schedule()->set_name("step");
  config_.mutable_schedule()->set_period(1);
  config_.mutable_schedule()->set_gamma(0.5);
  const auto slice = Asynchronous(1);
  Answers answers;
  for (int iteration = 0; iteration < 2; ++iteration) {
    for (int rank = 0; rank < 2; ++rank) {
      slice->Push(PushFrom(rank, iteration, 0, 1), answers.Taker());
    }
  }
  // Two steps of 1 and then two of 0.5.
  EXPECT_THAT(WeightsOf(*answers.Get()[3]), ElementsAre(-3));
}

TEST_F(StaleSliceTest, WhoIsAheadByTheBoundWaits) {
  const auto slice = Bounded(2);
  Answers quick;
  slice->Push(PushFrom(0, 0, 0, 1), quick.Taker());
  slice->Push(PushFrom(0, 1, 1, 1), quick.Taker());
  ASSERT_EQ(quick.Get().size(), 2u);
  slice->Push(PushFrom(0, 2, 2, 1), quick.Taker());
  // Worker 0 has done three iterations, the other none.
  ASSERT_EQ(quick.Get().size(), 2u);
  EXPECT_EQ(slice->AwaitedRanks(), std::set<int>{1});
  Answers slow;
  slice->Push(PushFrom(1, 0, 0, 10), slow.Taker());
  EXPECT_TRUE(slow.OnlyStatus().ok());
  ASSERT_EQ(quick.Get().size(), 3u);
  // The answer contains the updates that were applied while it waited.
  EXPECT_THAT(WeightsOf(*quick.Get()[2]), ElementsAre(-13));
  EXPECT_EQ(quick.Get()[2]->version, 4);
}

TEST_F(StaleSliceTest, WithoutStalenessEveryIterationWaitsForAll) {
  const auto slice = Bounded(0);
  Answers answers;
  slice->Push(PushFrom(0, 0, 0, 1), answers.Taker());
  EXPECT_TRUE(answers.Get().empty());
  slice->Push(PushFrom(1, 0, 0, 2), answers.Taker());
  ASSERT_EQ(answers.Get().size(), 2u);
  for (const auto& answer : answers.Get()) {
    EXPECT_THAT(WeightsOf(*answer), ElementsAre(-3));
    EXPECT_EQ(answer->mean_loss, 1.5);  // PushOf: rank + 1.
  }
}

TEST_F(StaleSliceTest, InitialWeightsWaitForAll) {
  const auto slice = Bounded(5);
  Answers first;
  slice->Pull(0, 0, first.Taker());
  EXPECT_TRUE(first.Get().empty());
  Answers second;
  slice->Pull(1, 0, second.Taker());
  EXPECT_TRUE(first.OnlyStatus().ok());
  EXPECT_TRUE(second.OnlyStatus().ok());
}

TEST_F(StaleSliceTest, WhoIsGoneIsNotWaitedFor) {
  const auto slice = Bounded(0);
  Answers answers;
  slice->Push(PushFrom(0, 0, 0, 1), answers.Taker());
  Answers pulled;
  slice->Pull(0, 1, pulled.Taker());
  EXPECT_TRUE(answers.Get().empty());
  EXPECT_TRUE(pulled.Get().empty());
  slice->WorkerGone(1);
  EXPECT_TRUE(answers.OnlyStatus().ok());
  EXPECT_TRUE(pulled.OnlyStatus().ok());
}

TEST_F(StaleSliceTest, WhoJoinsLetsThoseGoOnWhoWaitedForItsProcessBefore) {
  const auto slice = Bounded(1);
  for (int rank = 0; rank < 2; ++rank) {
    slice->Pull(rank, 0, [](const auto&) {});
  }
  Answers first;
  slice->Push(PushFrom(0, 0, 0, 1), first.Taker());
  EXPECT_EQ(first.Get().size(), 1u);
  Answers waits;
  slice->Push(PushFrom(0, 1, 1, 1), waits.Taker());
  EXPECT_TRUE(waits.Get().empty());
  EXPECT_EQ(slice->JoinsAt(1), 2);
  slice->Join(1, 2);
  EXPECT_TRUE(waits.OnlyStatus().ok());
  Answers joined;
  slice->Push(PushFrom(1, 2, 2, 1), joined.Taker());
  EXPECT_TRUE(joined.OnlyStatus().ok());
}

TEST_F(StaleSliceTest, WhoIsGoneBeforeTheInitialWeightsIsNotWaitedFor) {
  config_.mutable_consistency()->set_mode(ConsistencyConfig::STALE_SYNCHRONOUS);
  const auto slice = std::make_unique<WeightSlice>(OptionsOf(config_, 1));
  slice->WorkerGone(1);
  ASSERT_TRUE(Initialize(slice.get(), Dense({0})).ok());
  Answers pulled;
  slice->Pull(0, 0, pulled.Taker());
  EXPECT_TRUE(pulled.OnlyStatus().ok());
  // A push that was still on its way changes nothing any more.
  Answers pushed;
  slice->Push(PushFrom(1, 0, 0, 1), pushed.Taker());
  EXPECT_TRUE(absl::IsUnavailable(pushed.OnlyStatus()));
  EXPECT_EQ(slice->version(), 0);
}

TEST_F(StaleSliceTest, InitialWeightsMayBeSentAgainAtAnyTime) {
  const auto slice = Asynchronous(1);
  Answers answers;
  slice->Push(PushFrom(0, 0, 0, 1), answers.Taker());
  EXPECT_TRUE(Initialize(slice.get(), Dense({0})).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Initialize(slice.get(), Dense({1}))));
  EXPECT_THAT(WeightsOf(*PullFrom(slice.get(), 0)), ElementsAre(-1));
}

TEST_F(StaleSliceTest, AnswersHoldWhatChangedSinceTheWorkersWeights) {
  config_.mutable_downlink()->set_mode(DownlinkConfig::UPDATE);
  const auto slice = Asynchronous(100);
  Answers other;
  slice->Push(SparsePushOf(1, 0, 100, {7, 90}, {1, 1}), other.Taker());
  slice->Push(SparsePushOf(1, 1, 100, {8, 90}, {1, 1}), other.Taker());
  Answers mine;
  slice->Push(SparsePushOf(0, 0, 100, {3}, {5}), mine.Taker());
  ASSERT_TRUE(mine.OnlyStatus().ok());
  std::vector<uint32_t> indices;
  std::vector<float> values;
  DecodePayload({mine.Get()[0]->weights.bytes.span()}, &indices, &values);
  EXPECT_THAT(indices, ElementsAre(3, 7, 8, 90));
  EXPECT_THAT(values, ElementsAre(-5, -1, -1, -2));
  // Since version 3 the worker lacks only its own update.
  WorkerPush next = SparsePushOf(0, 1, 100, {4}, {1});
  next.base_version = 3;
  Answers again;
  slice->Push(next, again.Taker());
  DecodePayload({again.Get()[0]->weights.bytes.span()}, &indices, &values);
  EXPECT_THAT(indices, ElementsAre(4));
}

TEST_F(StaleSliceTest, ARepeatCountsOnce) {
  const auto slice = Asynchronous(1);
  Answers answers;
  slice->Push(PushFrom(0, 0, 0, 1), answers.Taker());
  slice->Push(PushFrom(0, 0, 0, 1), answers.Taker());
  ASSERT_EQ(answers.Get().size(), 2u);
  EXPECT_THAT(WeightsOf(*answers.Get()[1]), ElementsAre(-1));
  EXPECT_EQ(slice->version(), 1);
}

TEST_F(StaleSliceTest, ARepeatTakesThePlaceOfACallerThatWaits) {
  const auto slice = Bounded(0);
  Answers older;
  Answers newer;
  slice->Push(PushFrom(0, 0, 0, 1), older.Taker());
  slice->Push(PushFrom(0, 0, 0, 1), newer.Taker());
  EXPECT_TRUE(absl::IsCancelled(older.OnlyStatus()));
  Answers other;
  slice->Push(PushFrom(1, 0, 0, 2), other.Taker());
  ASSERT_TRUE(newer.OnlyStatus().ok());
  EXPECT_THAT(WeightsOf(*newer.Get()[0]), ElementsAre(-3));
}

TEST_F(StaleSliceTest, WhatCannotBeThisWorkersIsRefused) {
  const auto slice = Asynchronous(1);
  Answers skipped;
  slice->Push(PushFrom(0, 1, 0, 1), skipped.Taker());
  EXPECT_TRUE(absl::IsFailedPrecondition(skipped.OnlyStatus()));
  Answers unknown;
  slice->Push(PushFrom(0, 0, 7, 1), unknown.Taker());
  EXPECT_TRUE(absl::IsFailedPrecondition(unknown.OnlyStatus()));
  EXPECT_THAT(std::string(unknown.OnlyStatus().message()),
              HasSubstr("holds version 7; this slice is at version 0"));
  EXPECT_EQ(slice->version(), 0);
}

TEST_F(StaleSliceTest, StatisticsAreTheMeanOfEveryonesLast) {
  config_.mutable_consistency()->set_mode(ConsistencyConfig::ASYNCHRONOUS);
  SliceOptions options = OptionsOf(config_, 1);
  options.rule = UpdateRule::kMean;
  const auto slice = std::make_unique<WeightSlice>(options);
  ASSERT_TRUE(Initialize(slice.get(), Dense({9})).ok());
  Answers answers;
  slice->Push(PushFrom(0, 0, 0, 2), answers.Taker());
  EXPECT_THAT(WeightsOf(*answers.Get()[0]), ElementsAre(2));
  slice->Push(PushFrom(1, 0, 0, 4), answers.Taker());
  EXPECT_THAT(WeightsOf(*answers.Get()[1]), ElementsAre(3));
  slice->Push(PushFrom(0, 1, 1, 6), answers.Taker());
  EXPECT_THAT(WeightsOf(*answers.Get()[2]), ElementsAre(5));
}

// The sum of all steps is the same in any order, so it shows that none is lost
// or applied twice.
TEST_F(StaleSliceTest, PushesFromManyThreadsAllCount) {
  constexpr int kIterations = 200;
  const auto slice = Bounded(3);
  std::vector<std::thread> workers;
  for (int rank = 0; rank < 2; ++rank) {
    workers.emplace_back([&, rank] {
      int64_t version = 0;
      for (int i = 0; i < kIterations; ++i) {
        Mutex mu;
        CondVar changed;
        bool done = false;
        slice->Push(PushFrom(rank, i, version, 1),
                    [&](const absl::StatusOr<WeightAnswer>& answer) {
                      MutexLock lock(&mu);
                      ASSERT_TRUE(answer.ok());
                      version = answer->version;
                      done = true;
                      changed.SignalAll();
                    });
        MutexLock lock(&mu);
        while (!done) changed.Wait(&mu);
      }
      slice->WorkerGone(rank);
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(slice->version(), 2 * kIterations);
  EXPECT_THAT(WeightsOf(*PullFrom(slice.get(), 0)),
              ElementsAre(-2 * kIterations));
}

}  // namespace
}  // namespace ps
