// A short form of tests/recovery/kill_trainings.
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

TEST(KillTrainings, KilledProcessesCostNoBits) {
  TestProcess process(
      {ProgramPath("tests/recovery/kill_trainings"),
       "--gradsieve=" + ProgramPath("tools/gradsieve"), "--rounds=4"},
      NewTestDirectory() + "/output");
  EXPECT_EQ(process.WaitForExit(absl::Minutes(10)), 0) << process.Output();
  EXPECT_THAT(process.Output(),
              testing::HasSubstr("all ended with the same bits"));
}

}  // namespace
}  // namespace ps
