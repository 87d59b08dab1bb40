// docs/gpu_results.md shows what benchmarks/predicted_step prints.
#include <fstream>
#include <sstream>
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

TEST(GpuDocument, ShowsThePredictedSteps) {
  TestProcess process({ProgramPath("benchmarks/predicted_step")},
                      NewTestDirectory() + "/output");
  ASSERT_EQ(process.WaitForExit(absl::Seconds(60)), 0) << process.Output();
  std::ifstream in(ProgramPath("docs/gpu_results.md"));
  ASSERT_TRUE(in);
  std::ostringstream document;
  document << in.rdbuf();
  EXPECT_THAT(document.str(), testing::HasSubstr(process.Output()));
  // The layers are those of the models (tests/models).
  EXPECT_THAT(process.Output(), testing::HasSubstr("25,557,032 parameters"));
  EXPECT_THAT(process.Output(), testing::HasSubstr("66,034,000 parameters"));
}

}  // namespace
}  // namespace ps
