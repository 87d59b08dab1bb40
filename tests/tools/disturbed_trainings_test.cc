// Short forms of the scripts in tests/recovery.
#include <string>
#include <vector>

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

TEST(HostilePeers, CostNoBits) {
  std::vector<std::string> arguments = {
      ProgramPath("tests/recovery/hostile_peers"),
      "--gradsieve=" + ProgramPath("tools/gradsieve"), "--seconds=5",
      "--turns=2"};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  arguments.push_back("--any-memory");
#endif
  TestProcess process(arguments, NewTestDirectory() + "/output");
  EXPECT_EQ(process.WaitForExit(absl::Minutes(10)), 0) << process.Output();
  EXPECT_THAT(process.Output(), testing::HasSubstr("; same bits"));
}

}  // namespace
}  // namespace ps
