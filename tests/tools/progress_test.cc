#include "tools/progress.h"

#include <sstream>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

Progress Example() {
  Progress progress;
  progress.iteration = 1200;
  progress.total_iterations = 6240;
  progress.epoch = 1.92;
  progress.loss = 0.23116;
  progress.samples_per_second = 5230.7;
  progress.achieved_ratio = 0.010123;
  progress.bytes_up = 1'234'567;
  progress.bytes_down = 45'678'901;
  progress.eta = absl::Seconds(130);
  return progress;
}

TEST(FormatProgressTest, SaysEverythingWhereThereIsRoom) {
  EXPECT_EQ(FormatProgress(Example(), 120),
            " 19 %  1,200/6,240  loss 0.2312  ETA 2m 10s  ratio 0.0101  "
            "5,231 samples/s  up 1.23 MB  down 45.7 MB  epoch 1.9");
}

TEST(FormatProgressTest, LeavesOutWhatDoesNotFit) {
  EXPECT_EQ(FormatProgress(Example(), 43),
            " 19 %  1,200/6,240  loss 0.2312  ETA 2m 10s");
  EXPECT_EQ(FormatProgress(Example(), 42), " 19 %  1,200/6,240  loss 0.2312");
  for (int columns = 0; columns < 130; ++columns) {
    EXPECT_LE(FormatProgress(Example(), columns).size(), columns);
  }
}

TEST(FormatProgressTest, OnlyTheLastIterationIsAHundredPercent) {
  Progress progress = Example();
  progress.iteration = 6239;
  EXPECT_EQ(FormatProgress(progress, 5), " 99 %");
  progress.iteration = 6240;
  EXPECT_EQ(FormatProgress(progress, 5), "100 %");
}

TEST(FormatProgressTest, NothingKnownYetIsNoDivisionByZero) {
  EXPECT_EQ(FormatProgress(Progress(), 40),
            "  0 %  0/0  loss 0.0000  ETA ?  ratio 0");
}

TEST(EstimateRemainingTest, TheRestGoesAsWhatIsDone) {
  EXPECT_EQ(EstimateRemaining(10, 40, absl::Seconds(5)), absl::Seconds(15));
  EXPECT_EQ(EstimateRemaining(40, 40, absl::Seconds(5)), absl::ZeroDuration());
  EXPECT_EQ(EstimateRemaining(0, 40, absl::Seconds(5)),
            absl::InfiniteDuration());
}

class ProgressLineTest : public testing::Test {
 protected:
  ProgressLine Line(bool live) {
    ProgressOptions options;
    options.live = live;
    options.columns = 5;  // The percentage alone.
    options.live_interval = absl::Milliseconds(100);
    options.plain_interval = absl::Seconds(10);
    return ProgressLine(options, &out_);
  }

  // The percentage that `iteration` is of 100.
  static Progress At(int64_t iteration) {
    Progress progress;
    progress.iteration = iteration;
    progress.total_iterations = 100;
    return progress;
  }

  std::ostringstream out_;
  const absl::Time start_ = absl::UnixEpoch();
};

TEST_F(ProgressLineTest, PlainLinesComeAtMostOncePerInterval) {
  ProgressLine line = Line(/*live=*/false);
  for (int second = 0; second < 25; ++second) {
    line.Update(At(second), start_ + absl::Seconds(second));
  }
  line.Finish();
  EXPECT_EQ(out_.str(), "  0 %\n 10 %\n 20 %\n");
}

TEST_F(ProgressLineTest, TheLastIterationIsAlwaysShown) {
  ProgressLine line = Line(/*live=*/false);
  line.Update(At(99), start_);
  line.Update(At(100), start_);
  EXPECT_EQ(out_.str(), " 99 %\n100 %\n");
}

TEST_F(ProgressLineTest, ALiveLineReplacesTheOneBefore) {
  ProgressLine line = Line(/*live=*/true);
  line.Update(At(1), start_);
  line.Update(At(2), start_ + absl::Milliseconds(99));
  line.Update(At(3), start_ + absl::Milliseconds(100));
  line.Finish();
  line.Finish();
  EXPECT_EQ(out_.str(), "\r\x1b[K  1 %\r\x1b[K  3 %\n");
}

TEST_F(ProgressLineTest, TextGoesAboveTheLiveLine) {
  ProgressLine line = Line(/*live=*/true);
  line.Print("before");
  line.Update(At(1), start_);
  line.Print("worker 0: hello");
  line.Finish();
  line.Print("after");
  EXPECT_EQ(out_.str(),
            "before\n\r\x1b[K  1 %\r\x1b[Kworker 0: hello\n  1 %\nafter\n");
}

TEST_F(ProgressLineTest, PlainTextHasNoControlCharacters) {
  ProgressLine line = Line(/*live=*/false);
  line.Update(At(1), start_);
  line.Print("worker 0: hello");
  EXPECT_EQ(out_.str(), "  1 %\nworker 0: hello\n");
}

TEST(ProgressOptionsTest, AFileIsNotLive) {
  // Not a terminal, whatever this test's own output is.
  FILE* file = tmpfile();
  ASSERT_NE(file, nullptr);
  EXPECT_FALSE(ProgressOptionsFor(fileno(file)).live);
  fclose(file);
}

}  // namespace
}  // namespace ps
