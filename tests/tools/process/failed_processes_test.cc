#include "tools/process/failed_processes.h"

#include <csignal>
#include <string>

#include "common/exit_codes.h"
#include "common/program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

FailedProcess Process(const std::string& name, int code,
                      const std::string& error) {
  FailedProcess process;
  process.name = name;
  process.exit.code = code;
  process.error = error;
  return process;
}

TEST(FailedProcesses, TheOneThatOthersReportFailedFirst) {
  FailedProcesses failed;
  failed.Add(Process("server-0", kExitFailed,
                     "server 0: worker 1 (host:7) gave up: no data"));
  EXPECT_EQ(failed.First().name, "server-0");
  EXPECT_EQ(failed.Named(), "worker-1");
  failed.Add(Process("worker-0", kExitFailed,
                     "worker 0: server 0 at 127.0.0.1:1: worker 1 (host:7) "
                     "gave up: no data"));
  failed.Add(Process("worker-1", kExitConfig, "worker 1: no data"));
  EXPECT_EQ(failed.First().name, "worker-1");
  EXPECT_EQ(failed.Named(), "");
}

// docs/operations.md; gradsieve train and launch take theirs from this.
TEST(FailedProcesses, TheLauncherEndsAsTheFirstOne) {
  const auto code = [](int exit_code, int signal) {
    FailedProcesses failed;
    FailedProcess process = Process("worker-0", exit_code, "");
    process.exit.signal = signal;
    failed.Add(process);
    return ExitCodeFor(failed.Status());
  };
  EXPECT_EQ(code(kExitConfig, 0), kExitConfig);
  EXPECT_EQ(code(kExitUnreachable, 0), kExitUnreachable);
  EXPECT_EQ(code(kExitFailed, 0), kExitFailed);
  EXPECT_EQ(code(0, SIGKILL), kExitUnreachable);
  EXPECT_EQ(code(128 + SIGKILL, 0), kExitUnreachable) << "over ssh";
}

TEST(FailedProcesses, ReportsAreFollowedOverOthers) {
  FailedProcesses failed;
  failed.Add(Process("worker-0", kExitFailed,
                     "worker 0: server 12 at a:1: worker 3 (b:2) gave up: x"));
  failed.Add(Process("server-12", kExitFailed,
                     "server 12: worker 3 (b:2) gave up: x"));
  failed.Add(Process("worker-3", kExitFailed, "worker 3: x"));
  EXPECT_EQ(failed.First().name, "worker-3");
}

TEST(FailedProcesses, TheFirstToEndIsNamedWhereOthersSayNothing) {
  FailedProcesses failed;
  failed.Add(Process("worker-1", kExitFailed, ""));
  failed.Add(Process("server-0", kExitFailed, "server 0: worker 1 was lost"));
  EXPECT_EQ(failed.First().name, "worker-1");
  EXPECT_EQ(failed.Named(), "");
}

TEST(FailedProcesses, WhoWasKilledReportsNobody) {
  FailedProcesses failed;
  FailedProcess killed = Process("server-0", 0, "server 0: worker 1 is slow");
  killed.exit.signal = 9;
  failed.Add(killed);
  failed.Add(Process("worker-1", kExitUnreachable, "server 0 is gone"));
  EXPECT_EQ(failed.First().name, "server-0");
  EXPECT_EQ(failed.Named(), "");
}

TEST(FailedProcesses, ReportsInACircleEnd) {
  FailedProcesses failed;
  failed.Add(Process("worker-0", kExitFailed, "worker 0: server 0 at a:1: x"));
  failed.Add(Process("server-0", kExitFailed, "server 0: worker 0 left"));
  EXPECT_EQ(failed.First().name, "server-0");
}

TEST(FailedProcesses, NamesAreWholeWords) {
  EXPECT_THAT(
      ProcessesNamedIn("server 1 and worker 23: x, subserver 4, worker"),
      ElementsAre("server-1", "worker-23"));
  EXPECT_THAT(ProcessesNamedIn("parameter server, worker-1, worker x"),
              IsEmpty());
}

}  // namespace
}  // namespace ps
