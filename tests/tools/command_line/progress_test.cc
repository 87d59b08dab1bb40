#include "tools/command_line/progress.h"

#include <cmath>
#include <sstream>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tools/process/process_log.h"

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
  EXPECT_EQ(
      FormatProgress(Example(), 120),
      " 19 %  1,200/6,240  loss 0.2312  ETA 2m 10s  up 1.23 MB  down 45.7 MB  "
      "5,231 samples/s  ratio 0.0101  epoch 1.9");
}

TEST(FormatProgressTest, LeavesOutWhatDoesNotFit) {
  EXPECT_EQ(FormatProgress(Example(), 43),
            " 19 %  1,200/6,240  loss 0.2312  ETA 2m 10s");
  EXPECT_EQ(FormatProgress(Example(), 42), " 19 %  1,200/6,240  loss 0.2312");
  for (int columns = 0; columns < 130; ++columns) {
    EXPECT_LE(FormatProgress(Example(), columns).size(), columns);
  }
}

TEST(FormatProgressTest, AScriptDoesNotTellHowManyThereWillBe) {
  Progress progress = Example();
  progress.total_iterations = 0;
  progress.samples_per_second = 0;
  progress.epoch = 0;
  const std::string line = FormatProgress(progress, 120);
  EXPECT_EQ(line.substr(0, 30), "iteration 1,200  loss 0.2312  ") << line;
  EXPECT_EQ(line.substr(line.rfind("  ")), "  ratio 0.0101") << line;
  // Nor what its loss is.
  progress.loss = std::nan("");
  EXPECT_EQ(FormatProgress(progress, 20), "iteration 1,200");
}

TEST(FormatProgressTest, OnlyTheLastIterationIsAHundredPercent) {
  Progress progress = Example();
  progress.iteration = 6239;
  EXPECT_EQ(FormatProgress(progress, 5), " 99 %");
  progress.iteration = 6240;
  EXPECT_EQ(FormatProgress(progress, 5), "100 %");
  // Nothing is left to wait for.
  EXPECT_EQ(FormatProgress(progress, 45),
            "100 %  6,240/6,240  loss 0.2312  up 1.23 MB");
}

TEST(FormatProgressTest, NothingKnownYetIsNoDivisionByZero) {
  EXPECT_EQ(FormatProgress(Progress(), 40), "iteration 0  loss 0.0000  up 0 B");
}

TEST(FormatProgressTest, ALossThatHasDivergedStaysReadable) {
  Progress progress = Example();
  progress.loss = 12185054068370902614016.0;
  EXPECT_EQ(FormatProgress(progress, 36), " 19 %  1,200/6,240  loss 1.219e+22");
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
    options.columns = [this] { return columns_; };
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
  int columns_ = 5;  // The percentage alone.
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

TEST_F(ProgressLineTest, ANarrowerWindowLeavesNoRestOfTheLine) {
  columns_ = 30;
  ProgressLine line = Line(/*live=*/true);
  line.Update(At(1), start_);
  out_.str("");
  columns_ = 10;
  line.Update(At(2), start_ + absl::Seconds(1));
  // Its 25 characters are three lines of 11: up twice, and everything is
  // erased.
  EXPECT_EQ(out_.str(), "\r\x1b[A\x1b[A\x1b[J  2 %");
  out_.str("");
  columns_ = 18;
  line.Update(At(3), start_ + absl::Seconds(2));
  EXPECT_EQ(out_.str(), "\r\x1b[K  3 %  3/100");
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

TEST(ShortLogLineTest, LeavesOutWhatOnlyDevelopersNeed) {
  EXPECT_EQ(ShortLogLine("W20261125 16:33:36.548906 18118 trainer.cc:533] the "
                         "disk [a] is full"),
            "W 16:33:36 the disk [a] is full");
  for (const char* other :
       {"", "Iterations: 5] x", "terminate called", "I20261125 16:33", "[x] y",
        "E20261125 16:33:36 no fraction] x"}) {
    EXPECT_EQ(ShortLogLine(other), other);
  }
}

TEST(ProcessLogTest, RemembersAllLinesOfTheLastError) {
  ProcessLog log;
  ASSERT_TRUE(log.Open(testing::TempDir() + "/log", /*append=*/false).ok());
  const std::string place = "20261125 16:33:36.548906 18118 main.cc:1] ";
  log.Take("E" + place + "old");
  log.Take("not of glog");
  log.Take("I" + place + "Everything is well");
  log.Take("not of the error");
  EXPECT_EQ(log.last_error(), "old\nnot of glog");
  log.Take("E" + place + "job.textproto is not a valid job:");
  log.Take("job.textproto:3: name is \"\"");
  log.Take("W" + place + "bye");
  EXPECT_EQ(log.last_error(),
            "job.textproto is not a valid job:\njob.textproto:3: name is \"\"");
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
