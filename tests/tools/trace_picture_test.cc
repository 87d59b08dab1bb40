// tools/trace_picture: the contents of a picture, and the errors for a file
// that is not a trace.
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kTrace[] = R"({
  "traceEvents": [
    {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name",
     "args": {"name": "trainer"}},
    {"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 8000,
     "name": "iteration 15"},
    {"ph": "X", "pid": 1, "tid": 1, "ts": 1000, "dur": 5000,
     "name": "forward and backward"},
    {"ph": "i", "pid": 1, "tid": 1, "ts": 2000, "name": "gradient ready"},
    {"ph": "X", "pid": 1, "tid": 1, "ts": 2000, "dur": 500,
     "name": "compress <bucket> 0"},
    {"ph": "X", "pid": 1, "tid": 1, "ts": 6500, "dur": 1000, "name": "await"},
    {"ph": "b", "pid": 1, "tid": 1, "id": 7, "ts": 2500,
     "name": "bucket 0 slice 0"},
    {"ph": "e", "pid": 1, "tid": 1, "id": 7, "ts": 7250,
     "name": "bucket 0 slice 0"}
  ],
  "otherData": {"hidden_share": 0.75}
})";

class TracePicture : public testing::Test {
 protected:
  ~TracePicture() override { std::filesystem::remove_all(directory_); }

  // Runs tools/trace_picture ARGUMENT and keeps its output in output_.
  int Run(const std::string& argument) {
    TestProcess process({ProgramPath("tools/trace_picture"), argument},
                        directory_ + "/output");
    const int code = process.WaitForExit(absl::Seconds(60));
    output_ = process.Output();
    return code;
  }

  std::string File(const std::string& text) {
    const std::string path = directory_ + "/trace.json";
    std::ofstream(path) << text;
    return path;
  }

  const std::string directory_ = NewTestDirectory();
  std::string output_;
};

TEST_F(TracePicture, ShowsSpansSlicesAndWhatWasHidden) {
  ASSERT_EQ(Run(File(kTrace)), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("<svg xmlns="));
  EXPECT_THAT(output_, HasSubstr("One iteration, 8.0 ms; 75 % of the "
                                 "communication hidden"));
  EXPECT_THAT(output_, HasSubstr(">trainer</text>"));
  EXPECT_THAT(output_, HasSubstr("<title>forward and backward, 5.00 ms"));
  EXPECT_THAT(output_, HasSubstr("<title>compress &lt;bucket&gt; 0, 0.50 ms"));
  EXPECT_THAT(output_, HasSubstr("<title>bucket 0 slice 0, 4.75 ms"));
  EXPECT_THAT(output_, Not(HasSubstr("gradient ready")));
}

TEST_F(TracePicture, SpansWithinOthersLieBelowThem) {
  ASSERT_EQ(Run(File(kTrace)), 0) << output_;
  // 8 ms are 850 wide and start at 110; lines are 16 high and start at 24.
  EXPECT_THAT(output_, HasSubstr("<rect x='110.0' y='24' width='840.0'"));
  EXPECT_THAT(output_, HasSubstr("<rect x='215.0' y='40' width='525.0'"));
  EXPECT_THAT(output_, HasSubstr("<rect x='320.0' y='56' width='52.5'"));
  EXPECT_THAT(output_, HasSubstr("<rect x='792.5' y='40' width='105.0'"));
}

TEST_F(TracePicture, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(Run(directory_ + "/none.json"), 1);
  EXPECT_THAT(output_, HasSubstr("none.json"));
  EXPECT_EQ(Run(File("{")), 1);
  EXPECT_THAT(output_, HasSubstr("trace.json is not a trace"));
  EXPECT_EQ(Run(File("{\"events\": []}")), 1);
  EXPECT_THAT(output_, HasSubstr("trace.json is not a trace"));
  EXPECT_EQ(Run(File("{\"traceEvents\": []}")), 1);
  EXPECT_THAT(output_, HasSubstr("no spans in it"));
  EXPECT_THAT(output_, Not(HasSubstr("Traceback")));
}

TEST_F(TracePicture, SaysHowItIsUsed) {
  EXPECT_EQ(Run("--help"), 0);
  EXPECT_THAT(output_, HasSubstr("tools/trace_picture RUN/trace.json"));
}

}  // namespace
}  // namespace ps
