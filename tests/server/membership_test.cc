// Which workers are present or lost, and when the job is over. Timeouts pass
// inside WaitUntilOver; no test sleeps.
#include "server/membership.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/manual_clock.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kIncarnation = 77;

// Options with timeouts that no test reaches.
MembershipOptions Patient(int num_workers) {
  MembershipOptions options;
  options.num_workers = num_workers;
  options.startup_timeout = absl::Hours(1);
  options.lost_worker_timeout = absl::Hours(1);
  return options;
}

void Join(Membership* membership, int rank) {
  ASSERT_TRUE(
      membership
          ->Register(rank, kIncarnation + rank, "host:" + std::to_string(rank))
          .ok());
  membership->Attend(rank, /*connection=*/rank + 1);
}

TEST(MembershipTest, IsOverWhenAllHaveFinished) {
  Membership membership(Patient(3));
  for (int rank = 0; rank < 3; ++rank) Join(&membership, rank);
  std::vector<std::thread> workers;
  for (int rank = 0; rank < 3; ++rank) {
    workers.emplace_back([&membership, rank] { membership.Finish(rank); });
  }
  EXPECT_TRUE(membership.WaitUntilOver().ok());
  for (std::thread& worker : workers) worker.join();
}

TEST(MembershipTest, ASecondWorkerOfARankIsRefusedAndTheFirstOneIsNamed) {
  Membership membership(Patient(2));
  Join(&membership, 1);
  const absl::Status status = membership.Register(1, 5, "other:1").status();
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("worker 1 (host:1)"));
  EXPECT_TRUE(membership.Check(1, kIncarnation + 1).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(membership.Check(1, 5)));
}

TEST(MembershipTest, WithSnapshotsAReplacementEndsTheServerSoThatAllGoOn) {
  MembershipOptions options = Patient(2);
  options.keeps_snapshots = true;
  Membership membership(options);
  Join(&membership, 0);
  Join(&membership, 1);
  // Both may be told to try again: the first process may not be lost yet.
  const absl::Status taken = membership.Register(1, 5, "other:1").status();
  EXPECT_TRUE(absl::IsUnavailable(taken)) << taken;
  EXPECT_THAT(std::string(taken.message()), HasSubstr("worker 1 (host:1)"));
  EXPECT_TRUE(membership.Check(1, kIncarnation + 1).ok());
  membership.Leave(1, /*connection=*/2);
  EXPECT_TRUE(
      absl::IsUnavailable(membership.Register(1, 5, "other:1").status()));
  const absl::Status over = membership.WaitUntilOver();
  EXPECT_TRUE(absl::IsUnavailable(over)) << over;
  EXPECT_THAT(std::string(over.message()),
              HasSubstr("was lost and started again as other:1"));
}

TEST(MembershipTest, AWorkerThatWasLostIsStartedAgain) {
  MembershipOptions options = Patient(2);
  options.keeps_snapshots = true;
  options.workers_come_back = true;
  Membership membership(options);
  Join(&membership, 0);
  Join(&membership, 1);
  // The server may not know yet that the first process is lost.
  EXPECT_TRUE(
      absl::IsUnavailable(membership.Register(1, 5, "other:1").status()));
  membership.Leave(1, /*connection=*/2);
  const absl::Status back = membership.Register(1, 5, "other:1").status();
  EXPECT_TRUE(back.ok()) << back;
  EXPECT_THAT(membership.MissingRanks(), ElementsAre(1));
  membership.Attend(1, /*connection=*/3);
  EXPECT_THAT(membership.MissingRanks(), IsEmpty());
  EXPECT_TRUE(membership.Check(1, 5).ok());
  // The first one was not lost, only its connection.
  EXPECT_FALSE(membership.Check(1, kIncarnation + 1).ok());
  membership.Leave(1, /*connection=*/2);
  EXPECT_THAT(membership.MissingRanks(), IsEmpty());
}

TEST(MembershipTest, WorkersThatWereLostOrCameTooLateJoin) {
  MembershipOptions options = Patient(3);
  options.min_workers = 1;
  options.startup_timeout = absl::ZeroDuration();
  options.workers_join = true;
  Membership membership(options);
  Join(&membership, 0);
  Join(&membership, 1);
  EXPECT_TRUE(
      absl::IsUnavailable(membership.Register(1, 5, "other:1").status()))
      << "the first process may not be lost yet";
  membership.Leave(1, /*connection=*/2);
  const absl::StatusOr<bool> back = membership.Register(1, 5, "other:1");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(*back);
  membership.Attend(1, /*connection=*/3);
  // Its answer was lost, or its connection.
  EXPECT_TRUE(*membership.Register(1, 5, "other:1"));
  EXPECT_FALSE(*membership.Register(0, kIncarnation, "host:0"));
  // Worker 2 has not come, and nobody waits for it; then it comes.
  std::thread waits([&] {
    EXPECT_TRUE(membership
                    .WaitUntilOver([&](int rank) {
                      if (rank != 2) return;
                      EXPECT_TRUE(membership.IsGone(2));
                      const auto late = membership.Register(2, 9, "late:1");
                      EXPECT_TRUE(late.ok() && *late) << late.status();
                      EXPECT_FALSE(membership.IsGone(2));
                      membership.Attend(2, /*connection=*/4);
                      for (int r = 0; r < 3; ++r) membership.Finish(r);
                    })
                    .ok());
  });
  waits.join();
}

TEST(MembershipTest, NobodyJoinsAJobThatHasNotBegun) {
  MembershipOptions options = Patient(2);
  options.min_workers = 1;
  options.workers_join = true;
  Membership membership(options);
  Join(&membership, 0);
  Join(&membership, 1);
  membership.Leave(1, /*connection=*/2);
  const auto back = membership.Register(1, 5, "other:1", /*began=*/false);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_FALSE(*back) << "it begins with the others";
  membership.Attend(1, /*connection=*/3);
  membership.GiveUp(1, "no memory");
  EXPECT_TRUE(absl::IsUnavailable(
      membership.Register(1, 6, "other:2", /*began=*/false).status()));
  EXPECT_TRUE(*membership.Register(1, 6, "other:2"));
}

TEST(MembershipTest, AWorkerThatGaveUpMayBeStartedAgain) {
  MembershipOptions options = Patient(2);
  options.min_workers = 1;
  options.workers_join = true;
  Membership membership(options);
  Join(&membership, 0);
  Join(&membership, 1);
  membership.GiveUp(1, "no memory");
  EXPECT_FALSE(membership.HasFinished(1));
  EXPECT_TRUE(*membership.Register(1, 5, "other:1"));
  EXPECT_THAT(membership.MissingRanks(), ElementsAre(1));
}

TEST(MembershipTest, WithSnapshotsOneThatNeverAttendedIsReplaced) {
  MembershipOptions options = Patient(2);
  options.keeps_snapshots = true;
  Membership membership(options);
  ASSERT_TRUE(membership.Register(1, 4, "earlier:1").ok());
  EXPECT_TRUE(membership.Register(1, 5, "other:1").ok());
  EXPECT_TRUE(membership.Check(1, 5).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(membership.Check(1, 4)));
}

TEST(MembershipTest, TheSameWorkerMayRegisterAgain) {
  Membership membership(Patient(1));
  Join(&membership, 0);
  EXPECT_TRUE(membership.Register(0, kIncarnation, "host:0").ok());
  EXPECT_THAT(membership.MissingRanks(), IsEmpty()) << "it still attends";
}

TEST(MembershipTest, RanksOutsideTheJobAreRefused) {
  Membership membership(Patient(2));
  for (const int rank : {-1, 2, 1 << 30, -(1 << 30)}) {
    for (const absl::Status& status :
         {membership.Register(rank, 1, "x").status(), membership.Check(rank, 1),
          membership.CheckRank(rank)}) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("this job has ranks 0 to 1"));
    }
  }
  EXPECT_THAT(membership.MissingRanks(), ElementsAre(0, 1));
}

TEST(MembershipTest, AWorkerThatHasNotRegisteredIsUnknown) {
  Membership membership(Patient(2));
  const absl::Status status = membership.Check(1, 0);
  // The worker may register and try again.
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("has not registered"));
}

TEST(MembershipTest, ALostWorkerEndsTheJobAfterItsTimeout) {
  MembershipOptions options = Patient(2);
  options.lost_worker_timeout = absl::Milliseconds(50);
  Membership membership(options);
  Join(&membership, 0);
  Join(&membership, 1);
  const absl::Time start = SteadyClock()->Now();
  membership.Leave(1, /*connection=*/2);
  EXPECT_THAT(membership.MissingRanks(), ElementsAre(1));
  const absl::Status status = membership.WaitUntilOver();
  EXPECT_GE(SteadyClock()->Now() - start, absl::Milliseconds(50));
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("worker 1 (host:1) was lost and did not come back "
                        "within 50ms"));
}

TEST(MembershipTest, KnowsWhichWorkersShareProcessors) {
  MembershipOptions options = Patient(6);
  options.lost_worker_timeout = absl::ZeroDuration();
  options.min_workers = 2;
  Membership membership(options);
  for (const int rank : {5, 4, 3, 1, 0}) Join(&membership, rank);
  EXPECT_THAT(membership.FirstSharers(), ElementsAre(0, 1, -1, 3, 4, 5));
  for (const int rank : {5, 3, 0}) membership.SetCores(rank, "a");
  membership.SetCores(1, "b");
  EXPECT_THAT(membership.FirstSharers(), ElementsAre(0, 1, -1, 0, 4, 0));
  // One that has been given up shares none any more.
  membership.Leave(3, /*connection=*/4);
  const absl::Status status = membership.WaitUntilOver([&](int rank) {
    if (rank != 3) return;
    EXPECT_THAT(membership.FirstSharers(), ElementsAre(0, 1, -1, -1, 4, 0));
    // Started again on another host, or on this one with other processors.
    membership.SetCores(0, "b");
    EXPECT_THAT(membership.FirstSharers(), ElementsAre(0, 0, -1, -1, 4, 5));
    for (const int left : {0, 1, 4, 5}) membership.Finish(left);
    membership.GiveUp(2, "test");
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(MembershipTest, TheJobGoesOnWithoutAWorkerIfEnoughAreLeft) {
  MembershipOptions options = Patient(3);
  options.lost_worker_timeout = absl::ZeroDuration();
  options.min_workers = 2;
  Membership membership(options);
  for (int rank = 0; rank < 3; ++rank) Join(&membership, rank);
  membership.Leave(1, /*connection=*/2);
  std::vector<int> gone;
  const absl::Status status = membership.WaitUntilOver([&](int rank) {
    gone.push_back(rank);
    // The lost worker is not admitted again, and the others finish.
    const absl::Status refused = membership.Check(1, kIncarnation + 1);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused));
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("the job went on without it"));
    membership.Leave(1, /*connection=*/2);
    membership.Finish(0);
    membership.Finish(2);
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(gone, ElementsAre(1));
}

TEST(MembershipTest, TooFewWorkersLeftEndTheJob) {
  MembershipOptions options = Patient(3);
  options.lost_worker_timeout = absl::ZeroDuration();
  options.min_workers = 2;
  Membership membership(options);
  for (int rank = 0; rank < 3; ++rank) Join(&membership, rank);
  membership.Leave(1, /*connection=*/2);
  membership.GiveUp(2, "its disk is full");
  const absl::Status status = membership.WaitUntilOver();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
}

TEST(MembershipTest, AWorkerThatNeverCameIsNotNeededIfEnoughAreThere) {
  MembershipOptions options = Patient(3);
  options.startup_timeout = absl::ZeroDuration();
  options.min_workers = 2;
  Membership membership(options);
  Join(&membership, 0);
  Join(&membership, 1);
  const absl::Status status = membership.WaitUntilOver([&](int rank) {
    EXPECT_EQ(rank, 2);
    EXPECT_THAT(membership.MissingRanks(), IsEmpty());
    EXPECT_TRUE(absl::IsFailedPrecondition(
        membership.Register(2, 5, "late:2").status()));
    membership.Finish(0);
    membership.Finish(1);
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(MembershipTest, Worker0IsNeeded) {
  MembershipOptions options = Patient(3);
  options.min_workers = 1;
  Membership membership(options);
  for (int rank = 0; rank < 3; ++rank) Join(&membership, rank);
  membership.GiveUp(0, "its disk is full");
  const absl::Status status = membership.WaitUntilOver();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("worker 0 (host:0) gave up: its disk is full"));
}

TEST(MembershipTest, ALostWorkerThatComesBackIsNotLost) {
  MembershipOptions options = Patient(1);
  options.lost_worker_timeout = absl::ZeroDuration();
  Membership membership(options);
  Join(&membership, 0);
  membership.Leave(0, /*connection=*/1);
  EXPECT_THAT(membership.MissingRanks(), ElementsAre(0));
  membership.Attend(0, /*connection=*/2);
  EXPECT_THAT(membership.MissingRanks(), IsEmpty());
  std::thread worker([&membership] { membership.Finish(0); });
  EXPECT_TRUE(membership.WaitUntilOver().ok());
  worker.join();
}

// The server may see the new connection before it knows that the old one is
// broken.
TEST(MembershipTest, TheEndOfAnOlderConnectionIsIgnored) {
  MembershipOptions options = Patient(1);
  options.lost_worker_timeout = absl::ZeroDuration();
  Membership membership(options);
  Join(&membership, 0);
  membership.Attend(0, /*connection=*/2);
  membership.Leave(0, /*connection=*/1);
  EXPECT_THAT(membership.MissingRanks(), IsEmpty());
  membership.Leave(0, /*connection=*/2);
  EXPECT_THAT(membership.MissingRanks(), ElementsAre(0));
}

TEST(MembershipTest, AFinishedWorkerMayLeave) {
  MembershipOptions options = Patient(2);
  options.lost_worker_timeout = absl::ZeroDuration();
  Membership membership(options);
  Join(&membership, 0);
  Join(&membership, 1);
  membership.Finish(0);
  membership.Leave(0, /*connection=*/1);
  membership.Finish(1);
  EXPECT_TRUE(membership.WaitUntilOver().ok());
}

// Killed when it had finished, and started again.
TEST(MembershipTest, AnotherProcessOfAFinishedWorkerHasFinished) {
  for (const bool keeps_snapshots : {false, true}) {
    MembershipOptions options = Patient(2);
    options.keeps_snapshots = keeps_snapshots;
    options.lost_worker_timeout = absl::ZeroDuration();
    Membership membership(options);
    Join(&membership, 0);
    Join(&membership, 1);
    membership.Finish(1);
    EXPECT_FALSE(membership.Register(1, 5, "other:1").ok())
        << "the first process is there";
    membership.Leave(1, /*connection=*/2);
    const auto again = membership.Register(1, 5, "other:1");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_FALSE(*again);
    EXPECT_TRUE(membership.Check(1, 5).ok());
    EXPECT_TRUE(membership.HasFinished(1));
    // Nobody waits for it.
    membership.Attend(1, /*connection=*/3);
    membership.Leave(1, /*connection=*/3);
    membership.Finish(0);
    EXPECT_TRUE(membership.WaitUntilOver().ok());
  }
}

TEST(MembershipTest, AWorkerThatDiesBeforeItAttendsIsLost) {
  ManualClock clock;
  const MembershipOptions options = Patient(1);
  Membership membership(options, &clock);
  ASSERT_TRUE(membership.Register(0, kIncarnation, "host:0").ok());
  clock.Advance(options.lost_worker_timeout);
  const absl::Status status = membership.WaitUntilOver();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("worker 0 (host:0)"));
}

TEST(MembershipTest, WorkersThatNeverComeAreNamed) {
  ManualClock clock;
  const MembershipOptions options = Patient(4);
  Membership membership(options, &clock);
  Join(&membership, 2);
  clock.Advance(options.startup_timeout);
  const absl::Status status = membership.WaitUntilOver();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("worker 0, 1, 3 of 4 did not register within 1h"));
}

// The server does not know its job yet, or reads its log, and has told workers
// to come again.
TEST(MembershipTest, WhoeverComesAgainIsNotMissing) {
  ManualClock clock;
  MembershipOptions options = Patient(3);
  options.min_workers = 2;
  Membership membership(options, &clock);
  clock.Advance(options.startup_timeout / 2);
  membership.Await(0);
  membership.Await(1);
  clock.Advance(options.startup_timeout / 2);
  // Only worker 2 is given up, which nobody has heard of.
  const absl::Status over = membership.WaitUntilOver([&](int rank) {
    EXPECT_EQ(rank, 2);
    membership.Fail(absl::AbortedError("the test is over"));
  });
  EXPECT_TRUE(absl::IsAborted(over)) << over;
}

TEST(MembershipTest, AWorkerThatGivesUpEndsTheJobWithItsReason) {
  Membership membership(Patient(2));
  Join(&membership, 0);
  Join(&membership, 1);
  std::thread worker([&membership] { membership.GiveUp(1, "disk full"); });
  const absl::Status status = membership.WaitUntilOver();
  worker.join();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_EQ(status.message(), "worker 1 (host:1) gave up: disk full");
}

TEST(MembershipTest, TheFirstReasonStays) {
  Membership membership(Patient(2));
  Join(&membership, 0);
  membership.Fail(absl::UnavailableError("first"));
  membership.Fail(absl::InternalError("second"));
  membership.GiveUp(0, "third");
  EXPECT_EQ(membership.WaitUntilOver(), absl::UnavailableError("first"));
  EXPECT_EQ(membership.Register(1, 1, "late").status(),
            absl::UnavailableError("first"));
}

}  // namespace
}  // namespace ps
