#include "common/program.h"

#include <pty.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "google/protobuf/stubs/logging.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

TEST(ProgramTest, ExitCodesTellASchedulerWhatToRetry) {
  EXPECT_EQ(ExitCodeFor(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeFor(absl::UnavailableError("")), kExitUnreachable);
  EXPECT_EQ(ExitCodeFor(absl::DeadlineExceededError("")), kExitUnreachable);
  EXPECT_EQ(ExitCodeFor(absl::InvalidArgumentError("")), kExitConfig);
  EXPECT_EQ(ExitCodeFor(absl::NotFoundError("")), kExitConfig);
  EXPECT_EQ(ExitCodeFor(absl::AbortedError("")), kExitFailed);
  EXPECT_EQ(ExitCodeFor(absl::InternalError("")), kExitFailed);
}

TEST(ProgramTest, TheNameOfAProcessEndsInItsId) {
  EXPECT_TRUE(absl::EndsWith(ProcessName(), absl::StrCat(":", getpid())));
}

TEST(ProgramTest, AnIndexFromTheEnvironmentIsWholeOrIgnored) {
  constexpr char kName[] = "GRADSIEVE_TEST_INDEX";
  setenv(kName, "17", /*overwrite=*/1);
  EXPECT_EQ(NumberFromEnvironment(kName, -1), 17);
  // The lowest 32 bits are 1.
  setenv(kName, "4294967297", /*overwrite=*/1);
  EXPECT_EQ(NumberFromEnvironment(kName, -1), -1);
  unsetenv(kName);
}

TEST(ProgramDeathTest, SigtermEndsTheProcessWith143) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        InitProgram("program_test");
        std::raise(SIGTERM);
      },
      testing::ExitedWithCode(143), "");
}

TEST(ProgramDeathTest, TheSecondSignalEndsTheProcessAtOnce) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        EndWhenAsked(/*grace_seconds=*/60);
        std::raise(SIGTERM);
        if (!AskedToEnd()->load()) _exit(4);
        std::raise(SIGTERM);
      },
      testing::ExitedWithCode(143), "");
}

TEST(ProgramDeathTest, AHangUpAsksLikeSigterm) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        EndWhenAsked(/*grace_seconds=*/60);
        std::raise(SIGHUP);
        if (!AskedToEnd()->load()) _exit(4);
        std::raise(SIGHUP);
      },
      testing::ExitedWithCode(129), "");
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);  // As under nohup.
        EndWhenAsked(/*grace_seconds=*/60);
        std::raise(SIGHUP);
        _exit(AskedToEnd()->load() ? 4 : 5);
      },
      testing::ExitedWithCode(5), "");
}

TEST(ProgramDeathTest, OutputThatIsLostIsAnError) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto end_with = [](int exit_code) {
    if (std::freopen("/dev/full", "w", stdout) == nullptr) _exit(2);
    std::printf("something\n");
    EndProgram(exit_code);
  };
  EXPECT_EXIT(end_with(kExitDone), testing::ExitedWithCode(kExitFailed),
              "cannot write to standard output: No space left on device");
  EXPECT_EXIT(end_with(kExitConfig), testing::ExitedWithCode(kExitConfig),
              "cannot write");
}

TEST(ProgramDeathTest, LogLinesAreShortOnATerminal) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        int terminal = -1;
        int side = -1;
        if (openpty(&terminal, &side, nullptr, nullptr, nullptr) != 0) _exit(2);
        dup2(side, STDERR_FILENO);
        InitProgram("program_test");
        LOG(WARNING) << "the disk is full";
        char line[256] = {};
        if (read(terminal, line, sizeof(line) - 1) <= 0) _exit(3);
        const bool is_short = std::regex_match(
            line, std::regex("W \\d\\d:\\d\\d:\\d\\d the disk is full\r\n"));
        _exit(is_short ? 0 : 4);
      },
      testing::ExitedWithCode(0), "");
}

// When all processes are asked at the same time, a peer's message may be first.
TEST(ProgramDeathTest, TheFirstSignalAfterAPeerHasAskedEndsNothing) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        EndWhenAsked(/*grace_seconds=*/60);
        *AskedToEnd() = true;
        std::raise(SIGTERM);
        _exit(AskedToEnd()->load() ? 3 : 4);
      },
      testing::ExitedWithCode(3), "");
}

TEST(ProgramDeathTest, WhatPeersSendWritesNoLines) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        InitProgram("program_test");
        GOOGLE_LOG(ERROR) << "a field contains invalid UTF-8 data";
        _exit(7);
      },
      testing::ExitedWithCode(7), "^$");
}

TEST(ProgramDeathTest, ClosedStandardStreamsAreOpened) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        InitProgram("program_test");
        int ends[2];
        _exit(pipe(ends) == 0 && ends[0] > STDERR_FILENO ? 3 : 4);
      },
      testing::ExitedWithCode(3), "");
}

TEST(ProgramDeathTest, NothingIsTakenDownUnderThreadsThatStillRun) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        std::atexit([] { _exit(9); });
        // Full buffering, as to a file.
        static char buffer[100];
        std::setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
        dup2(STDERR_FILENO, STDOUT_FILENO);
        std::fputs("the last words", stdout);
        EndProgram(3);
      },
      testing::ExitedWithCode(3), "the last words");
}

TEST(ProgramDeathTest, AClosedPipeIsNoSignal) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        InitProgram("program_test");
        std::raise(SIGPIPE);
        _exit(3);
      },
      testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace ps
