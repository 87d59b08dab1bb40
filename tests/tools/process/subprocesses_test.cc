// Children are /bin/sh; tests only wait for events of children.
#include "tools/process/subprocesses.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Ends a test that hangs. No wait takes as long if everything works.
absl::Time Soon() { return SteadyClock()->Now() + absl::Seconds(60); }

std::vector<std::string> Shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

// Collects the output of the children, and how they end.
class SubprocessesTest : public testing::Test {
 protected:
  SubprocessesTest() : children_(Callbacks()) {}

  SubprocessCallbacks Callbacks() {
    SubprocessCallbacks callbacks;
    callbacks.on_line = [this](int child, OutputStream stream,
                               absl::string_view line) {
      EXPECT_EQ(exits_.count(child), 0) << "a line after the end";
      auto& lines = stream == OutputStream::kStdout ? out_ : err_;
      lines[child].emplace_back(line);
    };
    callbacks.on_exit = [this](int child, const ProcessExit& exit) {
      EXPECT_TRUE(exits_.emplace(child, exit).second);
    };
    return callbacks;
  }

  int Start(const std::string& script) {
    const absl::StatusOr<int> child = children_.Start(Shell(script));
    EXPECT_TRUE(child.ok()) << child.status();
    return child.value_or(-1);
  }

  // Polls until `child` has written this number of lines.
  void WaitForLines(int child, size_t lines) {
    const absl::Time deadline = Soon();
    while (out_[child].size() < lines && SteadyClock()->Now() < deadline) {
      ASSERT_TRUE(children_.Poll(deadline).ok());
    }
    ASSERT_GE(out_[child].size(), lines);
  }

  void WaitForAll() {
    const absl::Time deadline = Soon();
    while (children_.num_running() > 0 && SteadyClock()->Now() < deadline) {
      ASSERT_TRUE(children_.Poll(deadline).ok());
    }
    ASSERT_EQ(children_.num_running(), 0);
  }

  std::map<int, std::vector<std::string>> out_, err_;
  std::map<int, ProcessExit> exits_;
  Subprocesses children_;
};

TEST_F(SubprocessesTest, LinesComeByChildAndStream) {
  const int a = Start("echo one; echo two >&2; echo; echo three");
  const int b = Start("echo four");
  WaitForAll();
  EXPECT_THAT(out_[a], ElementsAre("one", "", "three"));
  EXPECT_THAT(err_[a], ElementsAre("two"));
  EXPECT_THAT(out_[b], ElementsAre("four"));
  EXPECT_THAT(err_[b], IsEmpty());
}

TEST_F(SubprocessesTest, ALineWithoutItsEndCountsWhenTheChildEnds) {
  const int child = Start("printf 'one\\ntwo'");
  WaitForAll();
  EXPECT_THAT(out_[child], ElementsAre("one", "two"));
}

TEST_F(SubprocessesTest, ManyLinesComeWholeAndInOrder) {
  const int child =
      Start("i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done");
  WaitForAll();
  ASSERT_EQ(out_[child].size(), 20000);
  for (int i = 0; i < 20000; ++i) ASSERT_EQ(out_[child][i], absl::StrCat(i));
}

TEST_F(SubprocessesTest, AnEndlessLineComesInPieces) {
  const int child = Start("head -c 300000 /dev/zero | tr '\\0' x");
  WaitForAll();
  size_t bytes = 0;
  for (const std::string& line : out_[child]) {
    EXPECT_LE(line.size(), 100'000);
    bytes += line.size();
  }
  EXPECT_EQ(bytes, 300'000);
}

TEST_F(SubprocessesTest, ExitsAreReportedOnceWithCodeOrSignal) {
  const int good = Start("exit 0");
  const int bad = Start("exit 3");
  const int killed = Start("kill -9 $$");
  WaitForAll();
  EXPECT_TRUE(exits_.at(good).ok());
  EXPECT_EQ(exits_.at(bad).code, 3);
  EXPECT_EQ(exits_.at(killed).signal, SIGKILL);
  EXPECT_EQ(DescribeExit(exits_.at(bad)), "exited with code 3");
  EXPECT_THAT(
      DescribeExit(exits_.at(killed)),
      StartsWith("was killed by signal 9 (Killed), perhaps because the machine "
                 "had no memory left (dmesg says so)"));
}

TEST_F(SubprocessesTest, ALimitOfTheSystemIsNamed) {
  const int timed = Start("kill -XCPU $$");
  WaitForAll();
  EXPECT_THAT(DescribeExit(exits_.at(timed)),
              AllOf(HasSubstr("was killed by signal 24"),
                    HasSubstr("processor time (ulimit -t)")));
  ProcessExit on_a_host;  // As a shell reports SIGKILL.
  on_a_host.code = 137;
  EXPECT_THAT(DescribeExit(on_a_host), AllOf(HasSubstr("exited with code 137"),
                                             HasSubstr("no memory left")));
  // The kernel sends SIGKILL at a hard limit. Nothing here takes as long.
  const rlimit week = {604'800, 604'800};
  ASSERT_EQ(setrlimit(RLIMIT_CPU, &week), 0);
  EXPECT_THAT(DescribeExit(on_a_host),
              HasSubstr("604800 s of processor time (ulimit -t)"));
}

TEST_F(SubprocessesTest, AProgramThatCannotRunIsAnErrorThatNamesIt) {
  const absl::Status missing = children_.Start({"/no/such/program"}).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("/no/such/program"));
  EXPECT_EQ(children_.Start({"/etc/passwd"}).status().code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(children_.Start({}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(children_.num_running(), 0);
}

TEST_F(SubprocessesTest, ArgumentsArriveAsTheyAre) {
  const auto child =
      children_.Start({"/bin/sh", "-c", "for x; do echo \"$x\"; done", "sh",
                       "a b", "", "$HOME"});
  ASSERT_TRUE(child.ok()) << child.status();
  WaitForAll();
  EXPECT_THAT(out_[*child], ElementsAre("a b", "", "$HOME"));
}

TEST_F(SubprocessesTest, AChildHasNothingToReadAndAGroupOfItsOwn) {
  const int child = Start("cat; echo $$; exec sleep 1000");
  WaitForLines(child, 1);
  EXPECT_EQ(out_[child][0], absl::StrCat(children_.pid(child)));
  EXPECT_EQ(getpgid(children_.pid(child)), children_.pid(child));
}

TEST_F(SubprocessesTest, AChildReadsTheInputThatItIsGiven) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  // cat would not end if it had the other end of its own input.
  ASSERT_EQ(fcntl(write_end.get(), F_SETFD, FD_CLOEXEC), 0);
  const auto child = children_.Start({"/bin/cat"}, kOwnNetwork, read_end.get());
  ASSERT_TRUE(child.ok()) << child.status();
  read_end.Close();
  ASSERT_EQ(write(write_end.get(), "one\n", 4), 4);
  WaitForLines(*child, 1);
  write_end.Close();
  WaitForAll();
  EXPECT_THAT(out_[*child], ElementsAre("one"));
}

TEST_F(SubprocessesTest, AChildReadsTheLinesThatAreSentToIt) {
  const auto one = children_.Start({"/bin/cat"}, kOwnNetwork, kLineInput);
  const auto other = children_.Start({"/bin/cat"}, kOwnNetwork, kLineInput);
  ASSERT_TRUE(one.ok() && other.ok()) << one.status() << other.status();
  children_.Send(*one, "two words");
  children_.Send(*other, "");
  children_.CloseInput(*other);
  children_.Send(*other, "too late");
  children_.CloseInput(*one);
  WaitForAll();
  EXPECT_THAT(out_[*one], ElementsAre("two words"));
  EXPECT_THAT(out_[*other], ElementsAre(""));
  children_.Send(*one, "too late");
}

TEST_F(SubprocessesTest, AChildDoesNotInheritThatWeIgnoreSignals) {
  signal(SIGPIPE, SIG_IGN);
  const int child = Start("kill -PIPE $$; exit 0");
  WaitForAll();
  EXPECT_EQ(exits_.at(child).signal, SIGPIPE);
}

TEST_F(SubprocessesTest, ASignalReachesOneChildAlone) {
  const int a = Start("echo ready; exec sleep 1000");
  const int b = Start("echo ready; exec sleep 1000");
  children_.Signal(a, SIGUSR1);
  const absl::Time deadline = Soon();
  while (exits_.empty() && SteadyClock()->Now() < deadline) {
    ASSERT_TRUE(children_.Poll(deadline).ok());
  }
  EXPECT_EQ(exits_.at(a).signal, SIGUSR1);
  EXPECT_FALSE(children_.is_running(a));
  EXPECT_TRUE(children_.is_running(b));
  children_.Signal(a, SIGKILL);  // No effect, because it has ended.
}

TEST_F(SubprocessesTest, TerminateAsksFirst) {
  const int child = Start(
      "trap 'echo bye; exit 7' TERM; echo ready; "
      "while :; do sleep 0.01; done");
  WaitForLines(child, 1);
  ASSERT_TRUE(children_.Terminate(absl::Seconds(60)).ok());
  EXPECT_THAT(out_[child], ElementsAre("ready", "bye"));
  EXPECT_EQ(exits_.at(child).code, 7);
}

TEST_F(SubprocessesTest, TerminateKillsWhoDoesNotListen) {
  const int deaf = Start("trap '' TERM; echo ready; exec sleep 1000");
  const int polite = Start("echo ready; exec sleep 1000");
  WaitForLines(deaf, 1);
  WaitForLines(polite, 1);
  ASSERT_TRUE(children_.Terminate(absl::Milliseconds(1)).ok());
  EXPECT_EQ(exits_.at(deaf).signal, SIGKILL);
  EXPECT_NE(exits_.at(polite).signal, 0);
  EXPECT_EQ(children_.num_running(), 0);
}

TEST_F(SubprocessesTest, AnInterruptCutsTheGraceShort) {
  const int deaf = Start("trap '' TERM; echo ready; exec sleep 1000");
  WaitForLines(deaf, 1);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  ASSERT_EQ(write(write_end.get(), "x", 1), 1);
  ASSERT_TRUE(
      children_.Terminate(absl::InfiniteDuration(), read_end.get()).ok());
  EXPECT_EQ(exits_.at(deaf).signal, SIGKILL);
}

TEST_F(SubprocessesTest, PollReturnsForTheWakeDescriptorAndTheDeadline) {
  Start("exec sleep 1000");
  ASSERT_TRUE(children_.Poll(SteadyClock()->Now() - absl::Seconds(1)).ok());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  ASSERT_EQ(write(write_end.get(), "x", 1), 1);
  ASSERT_TRUE(children_.Poll(absl::InfiniteFuture(), read_end.get()).ok());
  EXPECT_EQ(children_.num_running(), 1);
}

// Not of the time of day, which can be set.
TEST_F(SubprocessesTest, PollWaitsUntilADeadlineOfTheSteadyClock) {
  Start("exec sleep 1000");
  const absl::Time deadline = SteadyClock()->Now() + absl::Milliseconds(20);
  ASSERT_TRUE(children_.Poll(deadline).ok());
  EXPECT_GE(SteadyClock()->Now(), deadline);
}

TEST_F(SubprocessesTest, PollWithoutChildrenReturns) {
  EXPECT_TRUE(children_.Poll(absl::InfiniteFuture()).ok());
  EXPECT_TRUE(children_.Terminate(absl::InfiniteDuration()).ok());
}

// A process that the child left behind keeps its pipe open.
TEST_F(SubprocessesTest, AnExitIsSeenAlsoWhenThePipeStaysOpen) {
  const int child = Start("sleep 1000 & echo $!");
  WaitForAll();
  int left_behind = 0;
  ASSERT_EQ(out_[child].size(), 1);
  ASSERT_TRUE(absl::SimpleAtoi(out_[child][0], &left_behind));
  ASSERT_GT(left_behind, 1);
  EXPECT_EQ(kill(left_behind, SIGKILL), 0);
}

int OpenDescriptors() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

TEST(SubprocessesLifetimeTest, NothingIsLeftWhenTheObjectGoes) {
  const int descriptors = OpenDescriptors();
  pid_t pid = 0;
  {
    Subprocesses children((SubprocessCallbacks()));
    const auto child = children.Start(Shell("trap '' TERM; exec sleep 1000"));
    ASSERT_TRUE(child.ok()) << child.status();
    EXPECT_FALSE(children.Start({"/no/such/program"}).ok());
    pid = children.pid(*child);
  }
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
  EXPECT_EQ(OpenDescriptors(), descriptors);
}

TEST(SubprocessesLifetimeTest, ChildrenDieWithUsEvenOfSigkill) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    Subprocesses children((SubprocessCallbacks()));
    const auto child = children.Start(Shell("exec sleep 1000"));
    const pid_t pid = child.ok() ? children.pid(*child) : -1;
    if (write(ends[1], &pid, sizeof(pid)) != sizeof(pid)) _exit(1);
    for (;;) pause();
  }
  pid_t pid = -1;
  ASSERT_EQ(read(ends[0], &pid, sizeof(pid)), static_cast<int>(sizeof(pid)));
  close(ends[0]);
  close(ends[1]);
  ASSERT_GT(pid, 0);
  // The descriptor of a process that is not our child becomes readable when the
  // process has ended.
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  ASSERT_GE(pidfd.get(), 0);
  pollfd polled = {pidfd.get(), POLLIN, 0};
  EXPECT_EQ(poll(&polled, 1, /*timeout=*/0), 0);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_EQ(poll(&polled, 1, /*timeout=*/60'000), 1);
}

}  // namespace
}  // namespace ps
