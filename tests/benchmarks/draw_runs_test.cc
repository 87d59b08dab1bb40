// benchmarks/draw_runs: what is drawn of two runs, and where.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DrawRuns : public testing::Test {
 protected:
  // Two iterations of 1 MB and 0.5 s, an evaluation after the last.
  DrawRuns() {
    for (const std::string run : {"first", "second"}) {
      std::filesystem::create_directory(directory_ + "/" + run);
      std::ofstream(directory_ + "/" + run + "/metrics.jsonl")
          << R"({"event":"start","job":")" << run << R"( <run>"})"
          << "\n"
          << R"({"event":"iteration","iteration":1,"training_loss":4,)"
          << R"("seconds":0.5,"bytes_up":600000,"bytes_down":400000})"
          << "\n"
          << R"({"event":"iteration","iteration":2,"training_loss":2,)"
          << R"("seconds":1,"bytes_up":1200000,"bytes_down":800000})"
          << "\n"
          << R"({"event":"evaluation","iteration":2,)"
          << R"("metric":"test_accuracy","test_accuracy":0.75})"
          << "\n";
    }
  }
  ~DrawRuns() override { std::filesystem::remove_all(directory_); }

  std::string Draw(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), ProgramPath("benchmarks/draw_runs"));
    arguments.push_back(directory_ + "/first");
    arguments.push_back(directory_ + "/second");
    TestProcess process(arguments, directory_ + "/output");
    EXPECT_EQ(process.WaitForExit(absl::Seconds(60)), 0) << process.Output();
    return process.Output();
  }

  const std::string directory_ = NewTestDirectory();
};

// The axes go from 76 to 616, and from 396 up to 116; 20 further down with
// a third line.
TEST_F(DrawRuns, LossIsDrawnWhereItsIterationIs) {
  EXPECT_THAT(Draw({"--title=a < b"}),
              AllOf(HasSubstr(">a &lt; b</text>"),
                    HasSubstr(">second &lt;run&gt;</text>"),
                    HasSubstr(">training loss</text>"),
                    HasSubstr("points='346.0,116.0 616.0,396.0'"),
                    Not(HasSubstr("<run>"))));
}

TEST_F(DrawRuns, LossCanBeSmoothedAgainstATimeAndWithATarget) {
  EXPECT_THAT(Draw({"--x=seconds", "--seconds-per-iteration=1,2",
                    "--smoothing=2", "--target=2.5"}),
              AllOf(HasSubstr(">training loss, mean of 2 iterations</text>"),
                    HasSubstr(">target 2.5</text>"),
                    // 1 and 2 s, then 2 and 4 s: of 4.
                    HasSubstr("points='211.0,136.0 346.0,322.7'"),
                    HasSubstr("points='346.0,136.0 616.0,322.7'")));
}

TEST_F(DrawRuns, ResultsArePercentagesAgainstWhatTheyCost) {
  EXPECT_THAT(Draw({"--y=result", "--x=bytes"}),
              AllOf(HasSubstr(">test accuracy, %</text>"),
                    HasSubstr(">MB sent, both ways, all workers</text>"),
                    HasSubstr("points='616.0,")));
}

}  // namespace
}  // namespace ps
