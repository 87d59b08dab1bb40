#include "tools/bench/network/system_command.h"

#include <fcntl.h>

#include <string>

#include "common/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SystemCommand, IsLookedForInTheFoldersGiven) {
  EXPECT_EQ(*FindSystemProgram("sh", {"/no/such/folder", "/bin"}), "/bin/sh");
  const auto missing = FindSystemProgram("sh", {"/no/such", "/proc"});
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.status().message(),
            "there is no program \"sh\" in /no/such, /proc");
}

TEST(SystemCommand, SucceedsWithExitCodeZeroOnly) {
  EXPECT_TRUE(RunSystemCommand({"sh", "-c", "echo fine; exit 0"}).ok());
  const absl::Status failed =
      RunSystemCommand({"sh", "-c", "echo one; echo two >&2; exit 3"});
  EXPECT_EQ(failed.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(failed.message()),
              AllOf(HasSubstr("\"sh -c "), HasSubstr(" exited with code 3: "),
                    HasSubstr("one"), HasSubstr("two")));
}

TEST(SystemCommand, ADescriptorThatIsNoNetworkNamespaceIsRefused) {
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const absl::Status status = RunSystemCommand({"sh"}, null.get());
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("cannot enter the network namespace to run "));
}

}  // namespace
}  // namespace ps
