#include "tools/process/hang_watch.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

constexpr char kLine[] =
    "I20261126 15:04:04.626093 20849 server_sessions.cc:222] waiting for "
    "worker "
    "1 (last version at server 0 at a:50051: 111)";
constexpr char kHang[] =
    "worker-0@a waits for worker 1 (last version at server 0 at a:50051: 111)";

absl::Time At(int minutes) {
  return absl::UnixEpoch() + absl::Minutes(minutes);
}

class HangWatchTest : public testing::Test {
 protected:
  std::string Hang(int64_t iteration, int minutes, bool all_run = true) {
    watch_.Heard("worker-0@a", kLine, At(minutes));
    return watch_.Hang(iteration, all_run, At(minutes));
  }

  HangWatch watch_{absl::Minutes(30)};
};

TEST_F(HangWatchTest, NamesWhoIsWaitedForAfterAWhileWithoutAnIteration) {
  EXPECT_EQ(Hang(7, 100), "");
  EXPECT_EQ(Hang(7, 129), "");
  EXPECT_EQ(Hang(7, 130), kHang);
  EXPECT_EQ(Hang(7, 131), kHang);
  // The job has gone back to a snapshot.
  EXPECT_EQ(Hang(5, 132), "");
  EXPECT_EQ(Hang(5, 161), "");
  EXPECT_EQ(Hang(5, 162), kHang);
}

TEST_F(HangWatchTest, WaitsForProcessesThatAreStartedAgain) {
  EXPECT_EQ(Hang(7, 0), "");
  EXPECT_EQ(Hang(7, 20, /*all_run=*/false), "");
  EXPECT_EQ(Hang(7, 30), "");
  EXPECT_EQ(Hang(7, 50), kHang);
}

// Nobody waits: worker 0 evaluates, or cannot write its records.
TEST_F(HangWatchTest, WithoutAnybodyWhoWaitsNothingHangs) {
  EXPECT_EQ(Hang(7, 0), "");
  watch_.Heard("worker-1@b", "I] worker 1 has done 40 iterations", At(39));
  EXPECT_EQ(watch_.Hang(7, true, At(40)), "");
  EXPECT_EQ(Hang(7, 41), kHang);
}

TEST(HangWatch, MayBeTurnedOff) {
  HangWatch off(absl::ZeroDuration());
  for (const int minutes : {0, 1000}) {
    off.Heard("worker-0@a", kLine, At(minutes));
    EXPECT_EQ(off.Hang(7, true, At(minutes)), "");
  }
}

}  // namespace
}  // namespace ps
