// A short form of tests/recovery/launch_on_hosts.
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"
#include "tools/bench/network/slow_network.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

TEST(LaunchOnHosts, GivesTheBitsOfOneMachineAndLeavesNothingBehind) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sshd does not hand over the sanitizer's options";
#endif
  const absl::Status available = SlowNetwork::CheckAvailable();
  if (!available.ok()) GTEST_SKIP() << available.message();
  if (!std::filesystem::exists("/usr/sbin/sshd")) {
    GTEST_SKIP() << "Debian's package openssh-server is not installed";
  }
  TestProcess process(
      {ProgramPath("tests/recovery/launch_on_hosts"),
       "--gradsieve=" + ProgramPath("tools/gradsieve"), "to the end", "Ctrl-C"},
      NewTestDirectory() + "/output");
  EXPECT_EQ(process.WaitForExit(absl::Minutes(10)), 0) << process.Output();
  EXPECT_THAT(process.Output(), HasSubstr("as one machine does: same bits"));
  EXPECT_THAT(process.Output(), HasSubstr("--resume goes on: same bits"));
}

}  // namespace
}  // namespace ps
