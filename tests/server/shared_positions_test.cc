// One slice of a job whose workers send the positions that one of them selects.
#include "compressors/payload/shared_positions.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/slices/weight_slice.h"
#include "tests/server/slice_calls.h"
#include "tests/server/timer_clock.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kSize = 10;

// Collects what a slice says of positions.
class Asked {
 public:
  PositionsDone Taker() {
    return [this](const absl::StatusOr<PayloadBuffer>& positions) {
      answers_.push_back(positions);
    };
  }
  size_t count() const { return answers_.size(); }
  // Whether it is to select positions itself.
  bool leads() const {
    return answers_.size() == 1 && answers_[0].ok() &&
           answers_[0]->size_bytes() == 0;
  }
  absl::Status status() const { return answers_.at(0).status(); }
  std::vector<uint32_t> positions() const {
    return ReadPositions({answers_.at(0).value().span()}, kSize).value();
  }

 private:
  std::vector<absl::StatusOr<PayloadBuffer>> answers_;
};

// With plain SGD and learning rate 1 the weights become minus the mean
// gradient. Worker `iteration mod 3` leads.
class SharedPositionsTest : public ::testing::Test {
 protected:
  SharedPositionsTest() {
    config_.mutable_cluster()->set_num_workers(3);
    config_.mutable_optimizer()->set_name("sgd");
    config_.mutable_optimizer()->set_learning_rate(1);
    config_.mutable_compressor()->set_name("scalecom");
    config_.mutable_downlink()->set_mode(DownlinkConfig::WEIGHTS);
    slice_ = NewSlice();
  }

  std::unique_ptr<WeightSlice> NewSlice() {
    auto slice = std::make_unique<WeightSlice>(OptionsOf(config_, kSize));
    const absl::Status status =
        Initialize(slice.get(), Dense(std::vector<float>(kSize)));
    EXPECT_TRUE(status.ok()) << status;
    return slice;
  }

  static WorkerPush Whole(int rank, int64_t iteration,
                          const std::vector<uint32_t>& indices,
                          const std::vector<float>& values) {
    return SparsePushOf(rank, iteration, kSize, indices, values);
  }

  // Values alone, as a follower sends them.
  static WorkerPush Values(int rank, int64_t iteration,
                           const std::vector<uint32_t>& indices,
                           const std::vector<float>& values) {
    WorkerPush push = Whole(rank, iteration, indices, values);
    const PayloadPieces& pieces = push.payload.pieces;
    PayloadBuffer payload = PayloadBuffer::Allocate(pieces[0].size());
    std::copy(pieces[0].begin(), pieces[0].end(), payload.data());
    push.payload = Received(WithoutPositions(payload));
    push.lacks_positions = true;
    return push;
  }

  // The initial weights, and one update of all workers.
  static SliceHistory OneUpdate() {
    SliceHistory history;
    history.first = Dense(std::vector<float>(kSize));
    UpdateRecord update;
    for (int rank = 0; rank < 3; ++rank) {
      update.pushes.push_back(Whole(rank, 0, {3}, {1}));
    }
    history.updates.emplace(0, std::move(update));
    return history;
  }

  JobConfig config_;
  std::unique_ptr<WeightSlice> slice_;
};

TEST_F(SharedPositionsTest, FollowersGetTheLeadersPositionsAndSendValues) {
  Asked early;
  slice_->GetPositions(1, 0, early.Taker());
  Answers answers;
  // This one's push has come before the leader's: a server that was started
  // again has forgotten the leader's.
  slice_->Push(Values(2, 0, {2, 7}, {9, -3}), answers.Taker());
  EXPECT_EQ(early.count(), 0u);
  slice_->Push(Whole(0, 0, {2, 7}, {3, 6}), answers.Taker());
  ASSERT_EQ(early.count(), 1u);
  EXPECT_THAT(early.positions(), ElementsAre(2, 7));
  Asked late;
  slice_->GetPositions(2, 0, late.Taker());
  EXPECT_THAT(late.positions(), ElementsAre(2, 7));
  slice_->Push(Values(1, 0, {2, 7}, {0, 3}), answers.Taker());
  ASSERT_EQ(answers.Get().size(), 3u);
  for (const auto& answer : answers.Get()) {
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_THAT(WeightsOf(*answer),
                ElementsAre(0, 0, -4, 0, 0, 0, 0, -2, 0, 0));
    EXPECT_EQ(answer->sent_elements, 6);
  }
}

TEST_F(SharedPositionsTest, EachWorkerLeadsInItsTurn) {
  for (int64_t iteration = 0; iteration < 7; ++iteration) {
    const int leader = static_cast<int>(iteration % 3);
    const std::vector<uint32_t> indices = {static_cast<uint32_t>(iteration)};
    Answers answers;
    for (int rank = 0; rank < 3; ++rank) {
      Asked asked;
      slice_->GetPositions(rank, iteration, asked.Taker());
      if (rank == leader) {
        EXPECT_TRUE(absl::IsInvalidArgument(asked.status()));
        slice_->Push(Whole(rank, iteration, indices, {1}), answers.Taker());
      } else {
        slice_->Push(Values(rank, iteration, indices, {1}), answers.Taker());
        // It would be answered later, and has gone by then.
        slice_->GetPositions(rank, iteration, [](const auto&) {});
      }
    }
    ASSERT_EQ(answers.Get().size(), 3u);
    EXPECT_EQ(slice_->version(), iteration + 1);
  }
}

// The next leader may push before a worker that was started again has asked for
// the positions of the last update.
TEST_F(SharedPositionsTest, PositionsOfTheLastUpdateAreKept) {
  Answers answers;
  slice_->Push(Whole(0, 0, {5}, {1}), answers.Taker());
  slice_->Push(Values(1, 0, {5}, {1}), answers.Taker());
  slice_->Push(Values(2, 0, {5}, {1}), answers.Taker());
  slice_->Push(Whole(1, 1, {6}, {1}), answers.Taker());
  Asked asked;
  slice_->GetPositions(2, 0, asked.Taker());
  EXPECT_THAT(asked.positions(), ElementsAre(5));
  Answers repeated;
  slice_->Push(Values(2, 0, {5}, {1}), repeated.Taker());
  EXPECT_TRUE(repeated.OnlyStatus().ok()) << repeated.OnlyStatus();
  Asked next;
  slice_->GetPositions(2, 1, next.Taker());
  EXPECT_THAT(next.positions(), ElementsAre(6));
}

TEST_F(SharedPositionsTest, ValuesThatDoNotFitAreRefused) {
  Answers leaders;
  slice_->Push(Whole(0, 0, {2, 7}, {3, 6}), leaders.Taker());
  const auto refusal = [this](WorkerPush push) {
    Answers answers;
    slice_->Push(std::move(push), answers.Taker());
    EXPECT_EQ(slice_->version(), 0);
    const absl::Status status = answers.OnlyStatus();
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  };
  EXPECT_THAT(refusal(Values(1, 0, {2}, {3})),
              HasSubstr("1 values for 10 positions"));
  EXPECT_THAT(refusal(Values(2, 1, {2, 7}, {3, 3})), HasSubstr("version 0"));
  EXPECT_THAT(refusal(Values(0, 0, {2, 7}, {3, 3})),
              HasSubstr("worker 0 has no leader in iteration 0"));
  WorkerPush endless = Values(1, 0, {2, 7}, {3, 3});
  PayloadBuffer bytes = PayloadBuffer::Allocate(40);
  std::copy_n(endless.payload.pieces[0].begin(), 40, bytes.data());
  const uint32_t infinity = 0x7f800000;
  std::memcpy(bytes.data() + kPayloadHeaderBytes, &infinity, sizeof(infinity));
  endless.payload = Received(bytes);
  EXPECT_THAT(refusal(std::move(endless)), HasSubstr("not finite"));
  Asked asked;
  slice_->GetPositions(2, 1, asked.Taker());
  EXPECT_THAT(std::string(asked.status().message()),
              HasSubstr("asks for the positions of iteration 1"));
}

// Even those of a leader, and those that are cut off.
TEST_F(SharedPositionsTest, ValuesWithoutAReaderAreRefused) {
  WorkerPush push = Whole(0, 0, {2, 7}, {3, 6});
  const PayloadPieces& pieces = push.payload.pieces;
  PayloadBuffer plain = PayloadBuffer::Allocate(pieces[0].size());
  std::copy(pieces[0].begin(), pieces[0].end(), plain.data());
  const PayloadBuffer coded = EncodeCoded(plain, "remark", "rest");
  for (size_t size = kPayloadHeaderBytes; size <= coded.size_bytes(); ++size) {
    for (const int64_t iteration : {0, 3}) {
      PayloadBuffer some = coded;
      some.Shrink(size);
      push.iteration = iteration;
      push.payload = Received(some);
      Answers answers;
      slice_->Push(push, answers.Taker());
      EXPECT_TRUE(absl::IsInvalidArgument(answers.OnlyStatus()));
    }
  }
  EXPECT_EQ(slice_->version(), 0);
}

TEST_F(SharedPositionsTest, OtherCompressorsShareNothing) {
  config_.mutable_compressor()->set_name("topk");
  const auto slice = NewSlice();
  Asked asked;
  slice->GetPositions(1, 0, asked.Taker());
  EXPECT_TRUE(absl::IsInvalidArgument(asked.status())) << asked.status();
  Answers answers;
  slice->Push(Values(1, 0, {2}, {3}), answers.Taker());
  EXPECT_TRUE(absl::IsInvalidArgument(answers.OnlyStatus()));
}

// It would be found out when the update is made, and end the job.
TEST_F(SharedPositionsTest, FollowersHaveNoCodesAtPositionsOfTheirOwn) {
  config_.mutable_compressor()->set_name("lgc");
  const auto slice = NewSlice();
  Answers leaders;
  slice->Push(Whole(0, 0, {2}, {3}), leaders.Taker());
  WorkerPush push = Whole(1, 0, {4}, {3});
  const PayloadPieces& pieces = push.payload.pieces;
  PayloadBuffer payload = PayloadBuffer::Allocate(pieces[0].size());
  std::copy(pieces[0].begin(), pieces[0].end(), payload.data());
  push.payload = Received(EncodeCoded(payload, "", "values"));
  Answers answers;
  slice->Push(std::move(push), answers.Taker());
  EXPECT_TRUE(absl::IsInvalidArgument(answers.OnlyStatus()));
  EXPECT_THAT(std::string(answers.OnlyStatus().message()),
              HasSubstr("worker 1"));
  EXPECT_THAT(std::string(answers.OnlyStatus().message()),
              HasSubstr("coded values at positions of its own"));
  slice->Push(Values(1, 0, {2}, {3}), leaders.Taker());
  slice->Push(Values(2, 0, {2}, {3}), leaders.Taker());
  ASSERT_EQ(leaders.Get().size(), 3u);
  EXPECT_TRUE(leaders.Get()[2].ok()) << leaders.Get()[2].status();
}

TEST_F(SharedPositionsTest, ANewerCallSupersedesOneThatWaits) {
  Asked older, newer;
  slice_->GetPositions(1, 0, older.Taker());
  slice_->GetPositions(1, 0, newer.Taker());
  EXPECT_TRUE(absl::IsCancelled(older.status()));
  Answers first, second, leaders;
  slice_->Push(Values(1, 0, {2}, {3}), first.Taker());
  slice_->Push(Values(1, 0, {2}, {3}), second.Taker());
  EXPECT_TRUE(absl::IsCancelled(first.OnlyStatus()));
  slice_->Push(Whole(0, 0, {2}, {3}), leaders.Taker());
  EXPECT_EQ(newer.count(), 1u);
  slice_->Push(Values(2, 0, {2}, {3}), leaders.Taker());
  EXPECT_TRUE(second.OnlyStatus().ok()) << second.OnlyStatus();
}

TEST_F(SharedPositionsTest, AFailureIsToldToThoseWhoWaitForTheLeader) {
  Asked asked;
  Answers answers;
  slice_->GetPositions(1, 0, asked.Taker());
  slice_->Push(Values(2, 0, {2}, {3}), answers.Taker());
  slice_->Fail(absl::AbortedError("over"));
  EXPECT_TRUE(absl::IsAborted(asked.status()));
  EXPECT_TRUE(absl::IsAborted(answers.OnlyStatus()));
}

// No other worker can take its place where all make equally many pushes.
TEST_F(SharedPositionsTest, FollowersHearThatTheLeaderHasFinished) {
  for (const bool finishes_first : {false, true}) {
    const auto slice = NewSlice();
    Asked asked;
    if (finishes_first) slice->WorkerGone(0);
    slice->GetPositions(2, 0, asked.Taker());
    EXPECT_EQ(asked.count(), finishes_first ? 1u : 0u);
    if (!finishes_first) slice->WorkerGone(0);
    ASSERT_EQ(asked.count(), 1u);
    EXPECT_TRUE(absl::IsFailedPrecondition(asked.status())) << asked.status();
    EXPECT_THAT(std::string(asked.status().message()),
                HasSubstr("worker 0 has finished after push -1 (counted from "
                          "0), and worker 2 makes another one"));
  }
}

// A follower and a leader that were started again repeat what they did, and go
// on with the others.
TEST_F(SharedPositionsTest, WorkersGoBackAlone) {
  SliceHistory history;
  history.first = Dense(std::vector<float>(kSize));
  constexpr int64_t kUpdates = 3;
  for (int64_t iteration = 0; iteration < kUpdates; ++iteration) {
    const std::vector<uint32_t> indices = {static_cast<uint32_t>(iteration), 8};
    UpdateRecord update;
    Answers answers;
    for (int rank = 0; rank < 3; ++rank) {
      update.pushes.push_back(Whole(rank, iteration, indices, {1, 2}));
      const bool leads = rank == iteration % 3;
      slice_->Push(leads ? Whole(rank, iteration, indices, {1, 2})
                         : Values(rank, iteration, indices, {1, 2}),
                   answers.Taker());
    }
    ASSERT_EQ(answers.Get().size(), 3u);
    history.updates.emplace(iteration, std::move(update));
  }
  slice_->Rewind(
      1, "", std::make_shared<SliceHistory>(std::move(history)),
      [](const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; });
  for (int64_t iteration = 0; iteration < kUpdates; ++iteration) {
    const std::vector<uint32_t> indices = {static_cast<uint32_t>(iteration), 8};
    const bool leads = iteration == 1;
    if (!leads) {
      Asked asked;
      slice_->GetPositions(1, iteration, asked.Taker());
      EXPECT_EQ(asked.positions(), indices);
    }
    // The second time its answer has been lost.
    for (int repeat = 0; repeat < 2; ++repeat) {
      Answers answers;
      slice_->Push(leads ? Whole(1, iteration, indices, {1, 2})
                         : Values(1, iteration, indices, {1, 2}),
                   answers.Taker());
      ASSERT_TRUE(answers.OnlyStatus().ok()) << answers.OnlyStatus();
      EXPECT_EQ(answers.Get()[0]->version, iteration + 1);
    }
  }
  Asked asked;
  slice_->GetPositions(1, kUpdates, asked.Taker());
  EXPECT_EQ(asked.count(), 0u);
  Answers answers;
  slice_->Push(Whole(0, kUpdates, {4}, {1}), answers.Taker());
  EXPECT_THAT(asked.positions(), ElementsAre(4));
}

// A server that reads its log knows the positions of the last update.
TEST_F(SharedPositionsTest, AServerGoesOnFromItsLog) {
  SliceHistory history = OneUpdate();
  WeightSlice restarted(OptionsOf(config_, kSize));
  restarted.Load(
      "", std::make_shared<SliceHistory>(std::move(history)),
      [](const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; });
  Asked asked;
  restarted.GetPositions(2, 0, asked.Taker());
  EXPECT_THAT(asked.positions(), ElementsAre(3));
  Answers answers;
  restarted.Push(Values(2, 0, {3}, {1}), answers.Taker());
  EXPECT_TRUE(answers.OnlyStatus().ok()) << answers.OnlyStatus();
}

TEST_F(SharedPositionsTest, ALogThatContradictsItselfIsRefused) {
  SliceHistory history = OneUpdate();
  history.updates.at(0).pushes[1].dense = true;
  WeightSlice restarted(OptionsOf(config_, kSize));
  absl::Status loaded;
  restarted.Load("", std::make_shared<SliceHistory>(std::move(history)),
                 [&loaded](const absl::Status& status) { loaded = status; });
  EXPECT_TRUE(absl::IsDataLoss(loaded));
  EXPECT_EQ(loaded.message(),
            "a push of worker 1 is sparse, and its record says dense");
}

// Three workers, of which one is enough.
class LostLeaderTest : public SharedPositionsTest {
 protected:
  LostLeaderTest() {
    config_.mutable_consistency()->set_step_timeout_seconds(60);
    config_.mutable_consistency()->set_min_workers(1);
    slice_ = std::make_unique<WeightSlice>(OptionsOf(config_, kSize), nullptr,
                                           time_.timer(), time_.clock());
    const absl::Status status =
        Initialize(slice_.get(), Dense(std::vector<float>(kSize)));
    EXPECT_TRUE(status.ok()) << status;
  }
  WorkerPush Based(WorkerPush push, int64_t version) {
    push.base_version = version;
    return push;
  }

  TimerClock time_;
};

// Whoever asks first: otherwise two slices could make their callers wait for
// each other.
TEST_F(LostLeaderTest, TheNextOneLeadsIfTheLeaderIsGone) {
  slice_->WorkerGone(0);
  Asked second, first;
  slice_->GetPositions(2, 0, second.Taker());
  EXPECT_EQ(second.count(), 0u);
  slice_->GetPositions(1, 0, first.Taker());
  EXPECT_TRUE(first.leads());
  // The answer may be lost, or its process.
  Asked again;
  slice_->GetPositions(1, 0, again.Taker());
  EXPECT_TRUE(again.leads());
  Answers answers;
  slice_->Push(Whole(1, 0, {4}, {2}), answers.Taker());
  EXPECT_THAT(second.positions(), ElementsAre(4));
  slice_->Push(Values(2, 0, {4}, {6}), answers.Taker());
  ASSERT_EQ(answers.Get().size(), 2u);
  for (const auto& answer : answers.Get()) {
    EXPECT_THAT(WeightsOf(*answer), ElementsAre(0, 0, 0, 0, -4, 0, 0, 0, 0, 0));
  }
  // The next turn is that of worker 1 as always.
  Asked follower;
  slice_->GetPositions(2, 1, follower.Taker());
  EXPECT_EQ(follower.count(), 0u);
  Asked leader;
  slice_->GetPositions(1, 1, leader.Taker());
  EXPECT_TRUE(absl::IsInvalidArgument(leader.status()));
  slice_->Fail(absl::CancelledError("done"));
}

TEST_F(LostLeaderTest, TheNextOneMayBeLateToo) {
  slice_->WorkerGone(0);
  Asked second;
  slice_->GetPositions(2, 0, second.Taker());
  time_.Pass(absl::Seconds(59));
  EXPECT_EQ(second.count(), 0u);
  time_.Pass(absl::Seconds(1));
  EXPECT_TRUE(second.leads());
}

// The call of a process that is gone is answered, and appoints nobody.
TEST_F(LostLeaderTest, WhoIsGoneDoesNotLead) {
  Asked gone;
  slice_->GetPositions(1, 0, gone.Taker());
  slice_->WorkerGone(1);
  EXPECT_TRUE(absl::IsCancelled(gone.status()));
  Asked second;
  slice_->GetPositions(2, 0, second.Taker());
  slice_->WorkerGone(0);
  EXPECT_TRUE(second.leads());
}

TEST_F(LostLeaderTest, ALeaderThatIsLostWhileOthersWaitIsReplaced) {
  Asked first, second;
  slice_->GetPositions(1, 0, first.Taker());
  slice_->GetPositions(2, 0, second.Taker());
  slice_->WorkerGone(0);
  EXPECT_TRUE(first.leads());
  EXPECT_EQ(second.count(), 0u);
  // So is the one after it.
  slice_->WorkerGone(1);
  EXPECT_TRUE(second.leads());
  Answers answers;
  slice_->Push(Whole(2, 0, {1}, {3}), answers.Taker());
  ASSERT_TRUE(answers.OnlyStatus().ok()) << answers.OnlyStatus();
  EXPECT_EQ(slice_->version(), 1);
}

TEST_F(LostLeaderTest, ALeaderThatIsLateIsReplacedAndStillCounts) {
  Asked first, second;
  slice_->GetPositions(2, 0, second.Taker());
  time_.Pass(absl::Seconds(30));
  slice_->GetPositions(1, 0, first.Taker());
  // The time counts from the first call on.
  time_.Pass(absl::Seconds(29));
  EXPECT_EQ(first.count() + second.count(), 0u);
  time_.Pass(absl::Seconds(1));
  EXPECT_TRUE(first.leads());
  EXPECT_EQ(second.count(), 0u);
  // It does not push either.
  time_.Pass(absl::Seconds(60));
  EXPECT_TRUE(second.leads());
  Answers answers;
  slice_->Push(Whole(2, 0, {7}, {3}), answers.Taker());
  // Its positions are those of all others; these are its own.
  slice_->Push(Whole(0, 0, {2}, {9}), answers.Taker());
  // A process that was started again has forgotten what it was told.
  Asked again;
  slice_->GetPositions(1, 0, again.Taker());
  EXPECT_THAT(again.positions(), ElementsAre(7));
  slice_->Push(Values(1, 0, {7}, {6}), answers.Taker());
  ASSERT_EQ(answers.Get().size(), 3u);
  for (const auto& answer : answers.Get()) {
    EXPECT_FALSE(answer->dropped);
    EXPECT_THAT(WeightsOf(*answer),
                ElementsAre(0, 0, -3, 0, 0, 0, 0, -3, 0, 0));
  }
}

TEST_F(LostLeaderTest, WhoComesTooLateSelectsForItselfAndIsDropped) {
  Answers answers;
  slice_->Push(Whole(0, 0, {7}, {3}), answers.Taker());
  time_.Pass(absl::Seconds(60));
  ASSERT_EQ(slice_->version(), 1);
  slice_->Push(Based(Whole(1, 1, {7}, {1}), 1), answers.Taker());
  time_.Pass(absl::Seconds(60));
  ASSERT_EQ(slice_->version(), 2);
  Asked late;
  slice_->GetPositions(2, 0, late.Taker());
  EXPECT_TRUE(late.leads());
  Answers dropped;
  slice_->Push(Whole(2, 0, {5}, {8}), dropped.Taker());
  ASSERT_TRUE(dropped.OnlyStatus().ok()) << dropped.OnlyStatus();
  EXPECT_TRUE(dropped.Get()[0]->dropped);
  EXPECT_EQ(dropped.Get()[0]->version, 2);
  // So would values for positions that it was told in time.
  Asked next;
  slice_->GetPositions(1, 2, next.Taker());
  slice_->Push(Based(Whole(2, 2, {6}, {1}), 2), dropped.Taker());
  EXPECT_THAT(next.positions(), ElementsAre(6));
  time_.Pass(absl::Seconds(60));
  ASSERT_EQ(slice_->version(), 3);
  Answers too_late;
  slice_->Push(Based(Values(1, 2, {6}, {1}), 2), too_late.Taker());
  ASSERT_TRUE(too_late.OnlyStatus().ok()) << too_late.OnlyStatus();
  EXPECT_TRUE(too_late.Get()[0]->dropped);
}

// Another slice has left it out and is ahead of this one.
TEST_F(LostLeaderTest, WhoAsksForALaterIterationIsNotAwaitedInThisOne) {
  Asked ahead;
  slice_->GetPositions(2, 3, ahead.Taker());
  EXPECT_EQ(ahead.count(), 0u);
  Answers answers;
  slice_->Push(Whole(0, 0, {1}, {1}), answers.Taker());
  Asked follower;
  slice_->GetPositions(1, 0, follower.Taker());
  slice_->Push(Values(1, 0, {1}, {1}), answers.Taker());
  EXPECT_EQ(slice_->version(), 1);
  // The rest is made without anyone as soon as nobody else will push.
  slice_->WorkerGone(0);
  slice_->WorkerGone(1);
  EXPECT_EQ(slice_->version(), 3);
  EXPECT_TRUE(ahead.leads());
  Asked beyond;
  slice_->GetPositions(2, OptionsOf(config_, kSize).total_updates,
                       beyond.Taker());
  EXPECT_TRUE(absl::IsFailedPrecondition(beyond.status()));
}

// A server that was started again may give them another leader, whose positions
// are as many.
TEST_F(LostLeaderTest, ValuesForPositionsThatThisServerDoesNotKnowAreDropped) {
  Answers answers;
  slice_->Push(Values(2, 0, {2, 7}, {9, -3}), answers.Taker());
  ASSERT_TRUE(answers.OnlyStatus().ok()) << answers.OnlyStatus();
  EXPECT_TRUE(answers.Get()[0]->dropped);
  EXPECT_EQ(answers.Get()[0]->version, 0);
  // Nobody waits for it.
  Asked follower;
  slice_->GetPositions(1, 0, follower.Taker());
  slice_->Push(Whole(0, 0, {3, 4}, {2, 2}), answers.Taker());
  slice_->Push(Values(1, 0, {3, 4}, {4, 4}), answers.Taker());
  EXPECT_EQ(slice_->version(), 1);
  EXPECT_THAT(WeightsOf(*answers.Get()[1]),
              ElementsAre(0, 0, 0, -3, -3, 0, 0, 0, 0, 0));
}

// Also those for an update that is over, whose leader may have been another.
TEST_F(LostLeaderTest, LateValuesForOtherPositionsAreDropped) {
  Answers answers;
  slice_->Push(Whole(0, 0, {2}, {3}), answers.Taker());
  time_.Pass(absl::Seconds(60));
  ASSERT_EQ(slice_->version(), 1);
  Answers late;
  slice_->Push(Values(2, 0, {3, 4}, {9, -3}), late.Taker());
  ASSERT_TRUE(late.OnlyStatus().ok()) << late.OnlyStatus();
  EXPECT_TRUE(late.Get()[0]->dropped);
  EXPECT_THAT(WeightsOf(*late.Get()[0]),
              ElementsAre(0, 0, -3, 0, 0, 0, 0, 0, 0, 0));
}

}  // namespace
}  // namespace ps
