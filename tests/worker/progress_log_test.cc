#include "worker/records/progress_log.h"

#include "gtest/gtest.h"
#include "tests/common/manual_clock.h"

namespace ps {
namespace {

TEST(ProgressLog, SaysEachIntervalHowFarItIs) {
  ManualClock clock;
  ProgressLogOptions options;
  options.interval = absl::Seconds(10);
  options.first_iteration = 100;  // As after a restart.
  options.total_iterations = 1100;
  options.clock = &clock;
  ProgressLog log(options);
  clock.Advance(absl::Seconds(9));
  EXPECT_EQ(log.Line(150, 0.5), "");
  clock.Advance(absl::Seconds(1));
  // 200 of this process's 1000 iterations took 10 s.
  EXPECT_EQ(log.Line(300, 0.53214),
            "iteration 300 of 1100 (27 %), loss 0.5321, about 41s left");
  clock.Advance(absl::Seconds(5));
  EXPECT_EQ(log.Line(400, 0.5), "");
  clock.Advance(absl::Seconds(5));
  EXPECT_EQ(log.Line(1100, 0.5), "");
}

TEST(ProgressLog, AnIntervalOfZeroIsSilent) {
  ManualClock clock;
  ProgressLogOptions options;
  options.total_iterations = 10;
  options.clock = &clock;
  ProgressLog log(options);
  clock.Advance(absl::Hours(1));
  EXPECT_EQ(log.Line(5, 0.5), "");
}

}  // namespace
}  // namespace ps
