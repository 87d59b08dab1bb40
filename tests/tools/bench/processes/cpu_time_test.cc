#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "common/unique_fd.h"
#include "gtest/gtest.h"
#include "tools/bench/processes/usage.h"

namespace ps {
namespace {

CpuTime Usage() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           1e-6 * static_cast<double>(time.tv_usec);
  };
  return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

// Two ticks, because the two times are not read at the same moment.
constexpr double kTolerance = 0.02;

TEST(CpuTime, IsWhatTheProcessItselfIsTold) {
  const UniqueFd zero(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  std::string bytes(1 << 20, 'x');
  while (Usage().system < 0.2) {
    ASSERT_GT(read(zero.get(), bytes.data(), bytes.size()), 0);
  }
  volatile double work = 0;
  while (Usage().user < 0.4) {
    for (int i = 0; i < 100000; ++i) work = work + i;
  }
  // A name that looks like the fields after it.
  ASSERT_EQ(prctl(PR_SET_NAME, "a) R 1 2 3 4"), 0);
  const CpuTime expected = Usage();
  const absl::StatusOr<CpuTime> time = CpuTimeOf(getpid());
  ASSERT_TRUE(time.ok()) << time.status();
  EXPECT_NEAR(time->user, expected.user, kTolerance);
  EXPECT_NEAR(time->system, expected.system, kTolerance);
}

TEST(CpuTime, AProcessThatIsGoneIsNotFound) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  EXPECT_TRUE(absl::IsNotFound(CpuTimeOf(pid).status()));
}

}  // namespace
}  // namespace ps
