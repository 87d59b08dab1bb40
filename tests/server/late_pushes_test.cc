// Synchronous updates that go on without a worker: which pushes count, which
// are left out, and how a late worker continues.
#include <algorithm>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/slices/weight_slice.h"
#include "tests/server/slice_calls.h"
#include "tests/server/timer_clock.h"

namespace ps {
namespace {

using ::testing::ElementsAre;

constexpr double kTimeout = 60;

// Three workers, of which two are enough; plain SGD with learning rate 1.
class LatePushesTest : public ::testing::Test {
 protected:
  LatePushesTest() {
    config_.mutable_cluster()->set_num_workers(3);
    config_.mutable_optimizer()->set_learning_rate(1);
    config_.mutable_consistency()->set_step_timeout_seconds(kTimeout);
    config_.mutable_consistency()->set_min_workers(2);
    MakeSlice();
  }

  void MakeSlice() {
    slice_ = std::make_unique<WeightSlice>(OptionsOf(config_, 1), nullptr,
                                           time_.timer(), time_.clock());
    ASSERT_TRUE(Initialize(slice_.get(), Dense({0})).ok());
  }

  void Pass(double seconds) { time_.Pass(absl::Seconds(seconds)); }

  float Weight() { return WeightsOf(*PullFrom(slice_.get(), 0))[0]; }

  JobConfig config_;
  std::unique_ptr<WeightSlice> slice_;
  // Declared last, so that it ends before the slice.
  TimerClock time_;
};

TEST_F(LatePushesTest, EnoughWorkersAndTheTimeMakeAnUpdate) {
  Answers answers;
  slice_->Push(PushOf(0, 0, {2}), answers.Taker());
  slice_->Push(PushOf(2, 0, {4}), answers.Taker());
  Pass(kTimeout);
  EXPECT_EQ(slice_->version(), 1);
  // The mean is over two pushes, not three.
  EXPECT_EQ(Weight(), -3);
}

TEST_F(LatePushesTest, TheTimeCountsFromTheFirstPushOfTheUpdate) {
  Answers answers;
  for (int rank = 0; rank < 3; ++rank) {
    slice_->Push(PushOf(rank, 0, {0}), answers.Taker());
  }
  // The timer of update 0 may still be set; it does not count.
  Pass(kTimeout / 2);
  for (const int rank : {0, 1}) {
    WorkerPush push = PushOf(rank, 1, {3});
    push.base_version = 1;
    slice_->Push(push, answers.Taker());
  }
  Pass(kTimeout / 2);
  EXPECT_EQ(slice_->version(), 1);
  Pass(kTimeout / 2);
  EXPECT_EQ(slice_->version(), 2);
}

TEST_F(LatePushesTest, TooFewWorkersAreWaitedFor) {
  Answers answers;
  slice_->Push(PushOf(0, 0, {2}), answers.Taker());
  Pass(kTimeout);
  EXPECT_EQ(slice_->version(), 0);
  // The time is up already.
  slice_->Push(PushOf(1, 0, {4}), answers.Taker());
  EXPECT_EQ(slice_->version(), 1);
  EXPECT_EQ(Weight(), -3);
}

TEST_F(LatePushesTest, AllWorkersNeedNoTime) {
  Answers answers;
  for (int rank = 0; rank < 3; ++rank) {
    slice_->Push(PushOf(rank, 0, {3}), answers.Taker());
  }
  EXPECT_EQ(slice_->version(), 1);
  for (const auto& answer : answers.Get()) EXPECT_FALSE(answer->dropped);
}

TEST_F(LatePushesTest, WhoIsLateIsDroppedAndGetsAllWeights) {
  Answers others;
  slice_->Push(PushOf(0, 0, {2}), others.Taker());
  slice_->Push(PushOf(1, 0, {4}), others.Taker());
  // Ends the wait for worker 2, as the timer would.
  slice_->WorkerGone(2);
  ASSERT_EQ(slice_->version(), 1);
  Answers late;
  slice_->Push(PushOf(2, 0, {100}), late.Taker());
  ASSERT_EQ(late.Get().size(), 1u);
  ASSERT_TRUE(late.OnlyStatus().ok()) << late.OnlyStatus();
  EXPECT_TRUE(late.Get()[0]->dropped);
  EXPECT_EQ(late.Get()[0]->version, 1);
  EXPECT_THAT(WeightsOf(*late.Get()[0]), ElementsAre(-3));
  EXPECT_EQ(Weight(), -3);
}

TEST_F(LatePushesTest, ARepeatIsNotLate) {
  Answers answers;
  for (int rank = 0; rank < 3; ++rank) {
    slice_->Push(PushOf(rank, 0, {3}), answers.Taker());
  }
  for (int rank = 0; rank < 3; ++rank) {
    slice_->Push(PushOf(rank, 1, {3}), answers.Taker());
  }
  ASSERT_EQ(slice_->version(), 2);
  // A repeat for an update before the last one gets all weights, and was not
  // left out.
  Answers repeat;
  slice_->Push(PushOf(1, 0, {3}), repeat.Taker());
  ASSERT_TRUE(repeat.OnlyStatus().ok());
  EXPECT_FALSE(repeat.Get()[0]->dropped);
  EXPECT_THAT(WeightsOf(*repeat.Get()[0]), ElementsAre(-6));
}

// Another slice went on without worker 2, so the worker is one iteration ahead
// of this slice.
TEST_F(LatePushesTest, APushForALaterUpdateWaitsForIt) {
  Answers ahead;
  Answers answers;
  slice_->Push(PushOf(2, 1, {6}), ahead.Taker());
  slice_->Push(PushOf(0, 0, {2}), answers.Taker());
  EXPECT_EQ(slice_->version(), 0);
  slice_->Push(PushOf(1, 0, {4}), answers.Taker());
  // Worker 2 will not push for update 0 any more.
  ASSERT_EQ(slice_->version(), 1);
  EXPECT_EQ(Weight(), -3);
  EXPECT_TRUE(ahead.Get().empty());
  slice_->Push(PushOf(0, 1, {6}), answers.Taker());
  slice_->Push(PushOf(1, 1, {6}), answers.Taker());
  ASSERT_EQ(slice_->version(), 2);
  ASSERT_TRUE(ahead.OnlyStatus().ok());
  EXPECT_FALSE(ahead.Get()[0]->dropped);
  EXPECT_EQ(Weight(), -9);
}

// If it got only the changes of this update, it would miss those of the updates
// that it skipped.
TEST_F(LatePushesTest, WhoJumpedOverAnUpdateGetsAllWeights) {
  config_.mutable_downlink()->set_mode(DownlinkConfig::UPDATE);
  slice_ = std::make_unique<WeightSlice>(OptionsOf(config_, 100), nullptr,
                                         time_.timer(), time_.clock());
  ASSERT_TRUE(Initialize(slice_.get(), Dense(std::vector<float>(100))).ok());
  Answers others;
  Answers ahead;
  // Worker 2 holds version 0.
  slice_->Push(SparsePushOf(2, 1, 100, {7}, {3}), ahead.Taker());
  for (const int iteration : {0, 1}) {
    for (const int rank : {0, 1}) {
      WorkerPush push = SparsePushOf(rank, iteration, 100, {5}, {3});
      push.base_version = iteration;
      slice_->Push(push, others.Taker());
    }
  }
  ASSERT_EQ(slice_->version(), 2);
  std::vector<uint32_t> indices;
  std::vector<float> values;
  DecodePayload({others.Get()[2]->weights.bytes.span()}, &indices, &values);
  EXPECT_THAT(indices, ElementsAre(5, 7));
  ASSERT_TRUE(ahead.OnlyStatus().ok());
  EXPECT_FALSE(ahead.Get()[0]->dropped);
  const std::vector<float> all = WeightsOf(*ahead.Get()[0]);
  ASSERT_EQ(all.size(), 100u);
  EXPECT_EQ(all[5], -3 - 2);
  EXPECT_EQ(all[7], -1);
}

// Even momentum, which would keep moving the weights, changes nothing.
TEST_F(LatePushesTest, AnUpdateThatNobodyPushesForChangesNothing) {
  config_.mutable_optimizer()->set_name("momentum");
  config_.mutable_optimizer()->set_momentum(0.5);
  MakeSlice();
  Answers answers;
  for (const int iteration : {0, 3}) {
    for (int rank = 0; rank < 3; ++rank) {
      WorkerPush push = PushOf(rank, iteration, {3});
      push.base_version = iteration == 0 ? 0 : 1;
      slice_->Push(push, answers.Taker());
    }
  }
  // Updates 1 and 2 have no pushes.
  EXPECT_EQ(slice_->version(), 4);
  EXPECT_EQ(Weight(), -3 - (1.5 + 3));
  EXPECT_EQ(answers.Get().size(), 6u);
}

TEST_F(LatePushesTest, ARepeatOfAPushThatJumpedGetsAllWeightsToo) {
  config_.mutable_downlink()->set_mode(DownlinkConfig::UPDATE);
  slice_ = std::make_unique<WeightSlice>(OptionsOf(config_, 100), nullptr,
                                         time_.timer(), time_.clock());
  ASSERT_TRUE(Initialize(slice_.get(), Dense(std::vector<float>(100))).ok());
  Answers others;
  const auto jumped = [] { return SparsePushOf(2, 1, 100, {7}, {3}); };
  Answers first;
  slice_->Push(jumped(), first.Taker());
  for (const int iteration : {0, 1}) {
    for (const int rank : {0, 1}) {
      WorkerPush push = SparsePushOf(rank, iteration, 100, {5}, {3});
      push.base_version = iteration;
      slice_->Push(push, others.Taker());
    }
  }
  ASSERT_EQ(slice_->version(), 2);
  Answers again;
  slice_->Push(jumped(), again.Taker());
  ASSERT_TRUE(again.OnlyStatus().ok());
  EXPECT_FALSE(again.Get()[0]->dropped);
  EXPECT_EQ(WeightsOf(*again.Get()[0]).size(), 100u);
}

TEST_F(LatePushesTest, ANewerPullTakesThePlaceOfAnOlder) {
  Answers older;
  Answers newer;
  slice_->Pull(2, 1, older.Taker());
  slice_->Pull(2, 1, newer.Taker());
  EXPECT_TRUE(absl::IsCancelled(older.OnlyStatus()));
  EXPECT_TRUE(newer.Get().empty());
}

TEST_F(LatePushesTest, WhoPullsTheLastWeightsIsNotWaitedFor) {
  Answers pulled;
  slice_->Pull(2, 1, pulled.Taker());
  EXPECT_TRUE(pulled.Get().empty());
  EXPECT_EQ(slice_->AwaitedRanks(), (std::set<int>{0, 1}));
  Answers answers;
  slice_->Push(PushOf(0, 0, {2}), answers.Taker());
  slice_->Push(PushOf(1, 0, {4}), answers.Taker());
  ASSERT_TRUE(pulled.OnlyStatus().ok());
  EXPECT_EQ(pulled.Get()[0]->version, 1);
  EXPECT_THAT(WeightsOf(*pulled.Get()[0]), ElementsAre(-3));
}

TEST_F(LatePushesTest, WhatIsBeyondTheJobIsRefused) {
  Answers pulled;
  slice_->Pull(0, 101, pulled.Taker());
  EXPECT_TRUE(absl::IsInvalidArgument(pulled.OnlyStatus()));
  Answers pushed;
  slice_->Push(PushOf(0, 100, {1}), pushed.Taker());
  EXPECT_TRUE(absl::IsFailedPrecondition(pushed.OnlyStatus()));
}

TEST_F(LatePushesTest, FailureReachesWhoIsAheadAndWhoPulls) {
  Answers waiting;
  slice_->Push(PushOf(2, 1, {6}), waiting.Taker());
  slice_->Pull(1, 5, waiting.Taker());
  slice_->Fail(absl::AbortedError("over"));
  const auto answers = waiting.Get();
  ASSERT_EQ(answers.size(), 2u);
  for (const auto& answer : answers) {
    EXPECT_TRUE(absl::IsAborted(answer.status()));
  }
}

}  // namespace
}  // namespace ps
