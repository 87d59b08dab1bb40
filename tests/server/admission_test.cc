// Which pushes make an update, as a function of calls and given times alone.
#include "server/slices/admission.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/slice_calls.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Arrival = Admission::Arrival;

constexpr absl::Time kStart = absl::UnixEpoch();

class AdmissionTest : public ::testing::Test {
 protected:
  AdmissionTest() { config_.mutable_cluster()->set_num_workers(3); }

  void MakeTimed() {
    config_.mutable_consistency()->set_step_timeout_seconds(60);
    config_.mutable_consistency()->set_min_workers(2);
    Make();
  }

  void MakeStale(int staleness) {
    config_.mutable_consistency()->set_mode(
        ConsistencyConfig::STALE_SYNCHRONOUS);
    config_.mutable_consistency()->set_staleness(staleness);
    Make();
  }

  void Make() {
    admission_ = NewAdmission(OptionsOf(config_, 1));
    admission_->Applied(progress_);
  }

  Arrival Take(int rank, int64_t iteration, int64_t base_version = 0) {
    WorkerPush push = PushOf(rank, iteration, {1});
    push.base_version = base_version;
    const auto arrival = admission_->Take(std::move(push));
    EXPECT_TRUE(arrival.ok()) << arrival.status();
    return arrival.value_or(Arrival::kKept);
  }

  bool Refuses(int rank, int64_t iteration) {
    return absl::IsFailedPrecondition(
        admission_->Take(PushOf(rank, iteration, {1})).status());
  }

  // The ranks of the next update, which is then under way; nullopt if there is
  // none.
  std::optional<std::vector<int>> Next(absl::Time now = kStart) {
    const auto pushes = admission_->Next(now);
    if (!pushes.has_value()) return std::nullopt;
    std::vector<int> ranks;
    counted_ = progress_;
    ++counted_.version;
    for (const WorkerPush& push : *pushes) {
      ranks.push_back(push.rank);
      counted_.counted[push.rank] = push.iteration;
      EXPECT_FALSE(push.payload.pieces.empty());
    }
    return ranks;
  }

  // Ends the update under way.
  void Finish() {
    progress_ = counted_;
    admission_->Applied(progress_);
  }

  JobConfig config_;
  SliceProgress progress_ = {0, {-1, -1, -1}};
  SliceProgress counted_;
  std::unique_ptr<Admission> admission_;
};

TEST_F(AdmissionTest, StrictWaitsForAllWhateverTheTimeAndWhoIsGone) {
  Make();
  EXPECT_EQ(Take(2, 0), Arrival::kKept);
  EXPECT_EQ(Take(0, 0), Arrival::kKept);
  admission_->WorkerGone(1);
  EXPECT_EQ(admission_->Deadline(), absl::InfiniteFuture());
  EXPECT_EQ(Next(absl::InfiniteFuture()), std::nullopt);
  EXPECT_THAT(admission_->AwaitedRanks(), ElementsAre(1));
  EXPECT_EQ(Take(1, 0), Arrival::kKept);
  EXPECT_THAT(*Next(), ElementsAre(0, 1, 2));
}

TEST_F(AdmissionTest, StrictKnowsThatAWorkerWaitsInVain) {
  progress_ = {7, {6, 6, 6}};
  Make();
  admission_->WorkerGone(1);
  EXPECT_TRUE(admission_->Hopeless({}).ok());
  Take(2, 7);
  const absl::Status hopeless = admission_->Hopeless({});
  EXPECT_TRUE(absl::IsFailedPrecondition(hopeless));
  EXPECT_EQ(hopeless.message(),
            "worker 1 has finished after push 6 (counted from 0), and worker 2 "
            "makes another one: all workers of a SYNCHRONOUS job must make "
            "equally many");
  // Its own last push may still be under way.
  Take(1, 7);
  EXPECT_TRUE(admission_->Hopeless({}).ok());
  EXPECT_TRUE(admission_->Hopeless({0}).ok());
}

TEST_F(AdmissionTest, StrictKnowsThatAWorkerAsksInVain) {
  progress_ = {7, {6, 6, 6}};
  Make();
  EXPECT_TRUE(admission_->Hopeless({0, 2}).ok());
  admission_->WorkerGone(1);
  EXPECT_THAT(std::string(admission_->Hopeless({0, 2}).message()),
              StartsWith("worker 1 has finished after push 6 (counted from 0), "
                         "and worker 0 makes another one"));
}

TEST_F(AdmissionTest, StaleLetsAWorkerJoinWhereTheSlowestOtherIs) {
  MakeStale(1);
  for (int rank = 0; rank < 3; ++rank) admission_->Pulls(rank, 0);
  admission_->WorkerGone(2);
  for (int64_t i = 0; i < 5; ++i) {
    for (const int rank : {0, 1}) {
      if (rank == 1 && i == 4) continue;
      EXPECT_EQ(Take(rank, i), Arrival::kKept);
      ASSERT_TRUE(Next().has_value());
      Finish();
    }
  }
  EXPECT_EQ(admission_->JoinsAt(2), 4);
  admission_->Join(2, 4);
  EXPECT_TRUE(admission_->MayPull(4));
  EXPECT_FALSE(admission_->MayPull(5));
  EXPECT_TRUE(Refuses(2, 3 - 1));
  EXPECT_TRUE(Refuses(2, 5));
  // Worker 0 is one ahead, as it may be, and waits for both others.
  EXPECT_THAT(admission_->AwaitedRanks(), ElementsAre(1, 2));
  EXPECT_EQ(Take(2, 4), Arrival::kKept);
  EXPECT_THAT(*Next(), ElementsAre(2));
  Finish();
  EXPECT_THAT(admission_->AwaitedRanks(), ElementsAre(1));
}

TEST_F(AdmissionTest, AWorkerThatWasAheadJoinsWhereItWas) {
  MakeStale(9);
  for (int rank = 0; rank < 3; ++rank) admission_->Pulls(rank, 0);
  for (int64_t i = 0; i < 6; ++i) {
    Take(0, i);
    // The last one is still in the queue when the worker is killed. The process
    // that joins pushes another one, which must not be told that this one
    // counts.
    if (i == 5) break;
    ASSERT_TRUE(Next().has_value());
    Finish();
  }
  EXPECT_EQ(admission_->JoinsAt(0), 5);
  admission_->Join(0, 5);
  EXPECT_EQ(Next(), std::nullopt);
  EXPECT_EQ(Take(0, 5), Arrival::kKept);
  EXPECT_THAT(*Next(), ElementsAre(0));
  Finish();
  EXPECT_EQ(Next(), std::nullopt);
  EXPECT_TRUE(admission_->MayAnswer(0));
  EXPECT_EQ(Take(0, 6), Arrival::kKept);
}

TEST_F(AdmissionTest, TimedWaitsAgainForAWorkerThatJoins) {
  MakeTimed();
  admission_->WorkerGone(2);
  for (int64_t i = 0; i < 3; ++i) {
    Take(0, i);
    Take(1, i);
    ASSERT_TRUE(Next().has_value());
    Finish();
  }
  EXPECT_EQ(admission_->JoinsAt(2), 3);
  admission_->Join(2, 3);
  // Of a process that is killed, too, and is replaced by another one.
  Take(2, 3);
  admission_->Join(2, 4);
  Take(0, 3);
  Take(1, 3);
  EXPECT_THAT(*Next(), ElementsAre(0, 1)) << "it joins after this one";
  Finish();
  Take(0, 4);
  Take(1, 4);
  EXPECT_EQ(Next(), std::nullopt);
  EXPECT_THAT(admission_->AwaitedRanks(), ElementsAre(2));
  Take(2, 4);
  EXPECT_THAT(*Next(), ElementsAre(0, 1, 2));
}

TEST_F(AdmissionTest, StrictKnowsRepeatsBeforeDuringAndAfterTheUpdate) {
  Make();
  for (int rank = 0; rank < 3; ++rank) Take(rank, 0);
  EXPECT_EQ(Take(1, 0), Arrival::kRepeat);
  ASSERT_TRUE(Next().has_value());
  EXPECT_EQ(Take(1, 0), Arrival::kRepeat);
  EXPECT_FALSE(admission_->MayAnswer(1));
  EXPECT_EQ(Next(), std::nullopt) << "one update at a time";
  Finish();
  EXPECT_TRUE(admission_->MayAnswer(1));
  EXPECT_EQ(Take(1, 0), Arrival::kStored);
  EXPECT_TRUE(Refuses(1, 2));
  EXPECT_TRUE(Refuses(1, -1));
  for (int rank = 0; rank < 3; ++rank) Take(rank, 1);
  ASSERT_TRUE(Next().has_value());
  // The stored answer shares the weights, which the update changes in place.
  EXPECT_EQ(Take(1, 0), Arrival::kLate);
}

TEST_F(AdmissionTest, TimedWaitsUntilTheDeadlineOfTheFirstPush) {
  MakeTimed();
  EXPECT_EQ(Next(kStart + absl::Hours(1)), std::nullopt);
  EXPECT_EQ(admission_->Deadline(), absl::InfiniteFuture());
  Take(2, 0);
  const absl::Time first = kStart + absl::Hours(2);
  EXPECT_EQ(Next(first), std::nullopt);
  EXPECT_EQ(admission_->Deadline(), first + absl::Seconds(60));
  Take(0, 0);
  EXPECT_EQ(Next(first + absl::Seconds(59)), std::nullopt);
  EXPECT_THAT(*Next(first + absl::Seconds(60)), ElementsAre(0, 2));
  EXPECT_EQ(Take(1, 0), Arrival::kDropped) << "its update is under way";
  Finish();
  EXPECT_EQ(Take(1, 0), Arrival::kDropped);
  EXPECT_EQ(Take(0, 0), Arrival::kStored);
  EXPECT_EQ(admission_->Deadline(), absl::InfiniteFuture());
}

TEST_F(AdmissionTest, TimedNeedsEnoughPushesHoweverLateItIs) {
  MakeTimed();
  Take(2, 0);
  EXPECT_EQ(Next(kStart), std::nullopt);
  EXPECT_EQ(Next(kStart + absl::Hours(1)), std::nullopt);
  Take(1, 0);
  EXPECT_THAT(*Next(kStart + absl::Hours(1)), ElementsAre(1, 2));
}

TEST_F(AdmissionTest, TimedDoesNotWaitForWhoIsGoneAheadOrPulling) {
  MakeTimed();
  Take(0, 0);
  EXPECT_EQ(Next(), std::nullopt);
  Take(1, 1);
  admission_->Pulls(2, 2);
  EXPECT_THAT(*Next(), ElementsAre(0));
  Finish();
  admission_->WorkerGone(0);
  EXPECT_THAT(*Next(), ElementsAre(1));
  Finish();
  EXPECT_EQ(Next(), std::nullopt) << "nobody waits for more";
  EXPECT_TRUE(admission_->MayPull(2));
  EXPECT_FALSE(admission_->MayPull(3));
}

TEST_F(AdmissionTest, TimedMakesEmptyUpdatesForWhoWaitsForALaterOne) {
  MakeTimed();
  for (int rank = 0; rank < 3; ++rank) admission_->Pulls(rank, 1);
  EXPECT_THAT(*Next(), IsEmpty());
  Finish();
  EXPECT_EQ(Next(), std::nullopt);
}

TEST_F(AdmissionTest, StaleTakesOnePushAfterTheOtherInOrderOfArrival) {
  MakeStale(1);
  Take(2, 0);
  Take(0, 0);
  Take(2, 1);
  EXPECT_THAT(*Next(), ElementsAre(2));
  EXPECT_FALSE(admission_->MayAnswer(2));
  Finish();
  EXPECT_FALSE(admission_->MayAnswer(2)) << "its last push is not counted yet";
  EXPECT_THAT(*Next(), ElementsAre(0));
  Finish();
  EXPECT_TRUE(admission_->MayAnswer(0));
  EXPECT_THAT(*Next(), ElementsAre(2));
  Finish();
  EXPECT_EQ(Next(), std::nullopt);
  EXPECT_FALSE(admission_->MayAnswer(2)) << "two ahead of worker 1";
  EXPECT_THAT(admission_->AwaitedRanks(), ElementsAre(1));
  admission_->WorkerGone(1);
  EXPECT_TRUE(admission_->MayAnswer(2));
  // Membership says the rest.
  EXPECT_TRUE(
      absl::IsUnavailable(admission_->Take(PushOf(1, 0, {1})).status()));
}

TEST_F(AdmissionTest, EveryModeGoesOnWhereARestoredStateIs) {
  progress_ = {5, {4, 4, 4}};
  Make();
  EXPECT_EQ(Take(0, 4), Arrival::kStored);
  EXPECT_EQ(Take(0, 5), Arrival::kKept);
  progress_ = {5, {4, 2, 4}};
  MakeTimed();
  EXPECT_EQ(Take(0, 4, /*base_version=*/4), Arrival::kStored);
  EXPECT_EQ(Take(1, 2), Arrival::kLate);
  EXPECT_EQ(Take(1, 4), Arrival::kDropped);
  EXPECT_EQ(Take(1, 5), Arrival::kKept);
  config_.clear_consistency();
  MakeStale(1);
  EXPECT_EQ(Take(1, 2), Arrival::kRepeat);
  EXPECT_TRUE(admission_->MayAnswer(1));
  EXPECT_EQ(Take(1, 3), Arrival::kKept);
  EXPECT_TRUE(Refuses(0, 4 + 2));
}

}  // namespace
}  // namespace ps
