// The script that holds a process on another host, run by this machine's sh.
#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/file.h"
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
    // As sshd does, which runs the command by a shell.
    StartShell(LifelineCommand(script_, seconds,
                               {"sh", "-c", program, "argument one"}));
  }

  void StartShell(const std::string& command) {
    const absl::StatusOr<int> child =
        children_.Start({"/bin/sh", "-c", command}, kOwnNetwork, kLineInput);
    ASSERT_TRUE(child.ok()) << child.status();
    child_ = *child;
  }

  void Ask() { children_.Send(child_, ""); }

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
  int child_ = -1;
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
  StartShell(LifelineCommand(script_, 60, {"/no/such/program"}));
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(exit_.code, 127);
}

TEST_F(Lifeline, TheEndOfTheInputSendsSigterm) {
  Start(
      "trap 'echo asked; exit 75' TERM; echo ready; "
      "while :; do sleep 0.01; done");
  ASSERT_TRUE(WaitForLines(1));
  children_.CloseInput(child_);
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
  children_.CloseInput(child_);
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(exit_.code, 128 + SIGKILL);
}

// sshd closes a connection only when nobody has its output open any more.
TEST_F(Lifeline, OutputEndsWithTheProgram) {
  const std::string output = NewTestDirectory() + "/output";
  StartShell(absl::StrCat("(", LifelineCommand(script_, 60, {"echo", "one"}),
                          ") | cat"));
  // `cat` ends when its input does.
  ASSERT_TRUE(WaitForEnd());
  EXPECT_THAT(out_, ElementsAre("one"));
}

}  // namespace
}  // namespace ps
