// The script that holds a process on another host, run by this machine's sh.
#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"
#include "tools/launch/remote_command.h"
#include "tools/process/subprocesses.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Lifeline : public testing::Test {
 protected:
  Lifeline()
      : script_(NewTestDirectory() + "/lifeline.sh"),
        children_(SubprocessCallbacks{
            [this](int, OutputStream stream, absl::string_view line) {
              (stream == OutputStream::kStdout ? out_ : err_)
                  .emplace_back(line);
            },
            [this](int, const ProcessExit& exit) { exit_ = exit; }}) {
    EXPECT_TRUE(WriteFileAtomically(script_, kLifelineScript).ok());
  }

  ~Lifeline() override {
    EXPECT_TRUE(WaitFor(absl::Seconds(10), [&] {
      return ProcessesWith(script_).empty();
    })) << "processes are left";
  }

  // Runs a script for sh; its input stays open.
  void Start(const std::string& program, int seconds = 60) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd reader(ends[0]);
    input_ = UniqueFd(ends[1]);
    // As sshd does, which runs the command by a shell.
    ASSERT_TRUE(
        children_
            .Start({"/bin/sh", "-c",
                    LifelineCommand(script_, seconds,
                                    {"sh", "-c", program, "argument one"})},
                   kOwnNetwork, reader.get())
            .ok());
  }

  void Ask() { ASSERT_EQ(write(input_.get(), "\n", 1), 1); }

  bool PollUntil(const std::function<bool()>& condition) {
    const absl::Time deadline = SteadyClock()->Now() + absl::Seconds(60);
    while (!condition() && SteadyClock()->Now() < deadline) {
      EXPECT_TRUE(children_.Poll(deadline).ok());
    }
    return condition();
  }
  bool WaitForEnd() {
    return PollUntil([&] { return children_.num_running() == 0; });
  }
  bool WaitForLines(size_t lines) {
    return PollUntil([&] { return out_.size() >= lines; });
  }

  const std::string script_;
  std::vector<std::string> out_, err_;
  ProcessExit exit_;
  UniqueFd input_;
  Subprocesses children_;
};

TEST_F(Lifeline, OutputAndExitCodesAreTheProgramsOwn) {
  for (const int code : {0, 1, 64, 75, 78, 255}) {
    out_.clear();
    Start(absl::StrCat("echo \"$0\"; cat; exit ", code));
    ASSERT_TRUE(WaitForEnd());
    EXPECT_EQ(exit_.code, code);
    EXPECT_THAT(out_, ElementsAre("argument one"));
  }
  EXPECT_THAT(err_, IsEmpty());
}

TEST_F(Lifeline, ASignalIsToldAs128AndItsNumber) {
  Start("kill -KILL $$");
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(exit_.code, 128 + SIGKILL);
  Start("kill -TERM $$");
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(exit_.code, 128 + SIGTERM);
}

TEST_F(Lifeline, AProgramThatIsNotThereIsAnErrorAtOnce) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  ASSERT_TRUE(children_
                  .Start({"/bin/sh", "-c",
                          LifelineCommand(script_, 60, {"/no/such/program"})},
                         kOwnNetwork, reader.get())
                  .ok());
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(exit_.code, 127);
}

TEST_F(Lifeline, TheEndOfTheInputSendsSigterm) {
  Start(
      "trap 'echo asked; exit 75' TERM; echo ready; "
      "while :; do sleep 0.01; done");
  ASSERT_TRUE(WaitForLines(1));
  input_.Close();
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(exit_.code, 75);
  EXPECT_THAT(out_, ElementsAre("ready", "asked"));
}

TEST_F(Lifeline, EachLineSendsSigterm) {
  Start(
      "trap 'echo asked; n=$((n + 1)); [ $n -lt 2 ] || exit 143' TERM; n=0; "
      "echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(WaitForLines(1));
  Ask();
  ASSERT_TRUE(WaitForLines(2));
  Ask();
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(exit_.code, 143);
  EXPECT_THAT(out_, ElementsAre("ready", "asked", "asked"));
}

TEST_F(Lifeline, SigkillComesToWhoDoesNotListen) {
  Start("trap '' TERM; echo ready; while :; do sleep 0.01; done",
        /*seconds=*/1);
  ASSERT_TRUE(WaitForLines(1));
  input_.Close();
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(exit_.code, 128 + SIGKILL);
}

// sshd closes a connection only when nobody has its output open any more.
TEST_F(Lifeline, OutputEndsWithTheProgram) {
  const std::string output = NewTestDirectory() + "/output";
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  ASSERT_TRUE(
      children_
          .Start(
              {"/bin/sh", "-c",
               absl::StrCat("(", LifelineCommand(script_, 60, {"echo", "one"}),
                            ") | cat")},
              kOwnNetwork, reader.get())
          .ok());
  // `cat` ends when its input does.
  ASSERT_TRUE(WaitForEnd());
  EXPECT_THAT(out_, ElementsAre("one"));
}

}  // namespace
}  // namespace ps
