#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"
#include "tools/bench/processes/usage.h"

namespace ps {
namespace {

TEST(ResidentMemory, GrowsByWhatIsWritten) {
  const absl::StatusOr<int64_t> before = ResidentBytesOf(getpid());
  ASSERT_TRUE(before.ok()) << before.status();
  constexpr int64_t kBytes = 64 << 20;
  const std::string written(kBytes, 'x');
  const absl::StatusOr<int64_t> after = ResidentBytesOf(getpid());
  ASSERT_TRUE(after.ok()) << after.status();
  // The system counts pages in batches.
  EXPECT_NEAR(*after - *before, kBytes, 4 << 20) << written[0];
}

TEST(ResidentMemory, AProcessThatIsGoneIsNotFound) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  EXPECT_TRUE(absl::IsNotFound(ResidentBytesOf(pid).status()));
}

TEST(ResidentMemory, KilobytesAreOf1024Bytes) {
  const auto bytes = ParseResidentBytes(
      "Name:\tVmRSS\nVmHWM:\t  99 kB\nVmRSS:\t    12 kB\nThreads:\t1\n",
      "file");
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, 12 * 1024);
}

TEST(ResidentMemory, WhatProcDoesNotWriteIsRefused) {
  for (const char* text : {"", "VmRSS:\n", "VmRSS:\t12\n", "VmRSS:\t-1 kB\n",
                           "VmRSS:\tx kB\n", " VmRSS:\t12 kB\n"}) {
    EXPECT_EQ(ParseResidentBytes(text, "file").status(),
              absl::DataLossError("file has no VmRSS as proc(5) says"))
        << text;
  }
}

}  // namespace
}  // namespace ps
