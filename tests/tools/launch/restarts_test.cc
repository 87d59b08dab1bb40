#include "tools/launch/restarts.h"

#include <signal.h>

#include "absl/time/time.h"
#include "common/exit_codes.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

// Gives up after 100 s.
ClusterConfig Cluster(double startup_timeout_seconds = 30) {
  ClusterConfig cluster;
  cluster.set_startup_timeout_seconds(startup_timeout_seconds);
  cluster.set_lost_worker_timeout_seconds(6);
  cluster.set_lost_server_timeout_seconds(4);
  return cluster;
}

absl::Time At(int seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

TEST(Restarts, ExitCodesDecide) {
  for (const int code :
       {kExitUnreachable, 129, kExitInterrupted, 137, 143, 255}) {
    EXPECT_TRUE(AsksForRestart({code, /*signal=*/0})) << code;
  }
  for (const int code :
       {kExitDone, kExitFailed, kExitUsage, kExitConfig, 126, 127, 134, 139}) {
    EXPECT_FALSE(AsksForRestart({code, /*signal=*/0})) << code;
  }
  // ssh itself was killed.
  EXPECT_TRUE(AsksForRestart({/*code=*/0, SIGKILL}));
}

TEST(Restarts, DelaysGrowForEachProcessUntilAnIteration) {
  Restarts restarts(Cluster(/*startup_timeout_seconds=*/60));
  for (const int seconds : {1, 2, 4, 8, 16, 30, 30}) {
    EXPECT_EQ(restarts.DelayOf("worker-0", At(0)), absl::Seconds(seconds));
  }
  EXPECT_EQ(restarts.DelayOf("worker-1", At(0)), absl::Seconds(1));
  restarts.Reached(1);
  EXPECT_EQ(restarts.DelayOf("worker-0", At(0)), absl::Seconds(1));
}

TEST(Restarts, DelaysAreShorterThanOthersWait) {
  Restarts patient(Cluster(/*startup_timeout_seconds=*/9));
  for (const double seconds : {1.0, 2.0, 4.0, 4.5, 4.5}) {
    EXPECT_EQ(patient.DelayOf("worker-0", At(0)), absl::Seconds(seconds));
  }
  Restarts impatient(Cluster(/*startup_timeout_seconds=*/0.1));
  EXPECT_EQ(impatient.DelayOf("worker-0", At(0)), absl::Seconds(1));
  EXPECT_EQ(impatient.DelayOf("worker-0", At(0)), absl::Seconds(1));
}

TEST(Restarts, GivesUpAfterAWhileWithoutAnotherIteration) {
  Restarts restarts(Cluster());
  restarts.Reached(7);
  EXPECT_FALSE(restarts.ToGiveUp(At(1'000'000)));
  restarts.DelayOf("worker-0", At(50));
  restarts.DelayOf("worker-1", At(90));
  EXPECT_FALSE(restarts.ToGiveUp(At(150)));
  EXPECT_EQ(restarts.Trouble(At(150)), absl::Seconds(100));
  EXPECT_TRUE(restarts.ToGiveUp(At(151)));
}

// All processes have gone back to the snapshot of iteration 5.
TEST(Restarts, IterationsThatAreMadeAgainDoNotCount) {
  Restarts restarts(Cluster());
  restarts.Reached(7);
  restarts.DelayOf("worker-0", At(50));
  restarts.Reached(5);
  restarts.Reached(7);
  EXPECT_TRUE(restarts.ToGiveUp(At(151)));
  restarts.Reached(8);
  EXPECT_FALSE(restarts.ToGiveUp(At(151)));
}

}  // namespace
}  // namespace ps
