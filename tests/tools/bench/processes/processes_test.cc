// Children are /bin/sh; tests only wait for events of children.
#include "tools/bench/processes/processes.h"

#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kBound = absl::Seconds(60);

// Answers each request with its count and the shell's first argument.
constexpr char kAnswerAll[] =
    "echo 'ok 7'; while read verb count; do echo \"ok $count $0\"; done";

class BenchProcessesTest : public testing::Test {
 protected:
  BenchProcessesTest() : processes_(*BenchProcesses::Create()) {}

  // `script` sees `zero` as $0.
  int Peer(const std::string& script, const std::string& zero = "0") {
    const auto child = processes_->Start(absl::StrCat("peer ", zero),
                                         {"/bin/sh", "-c", script, zero});
    EXPECT_TRUE(child.ok()) << child.status();
    return child.value_or(-1);
  }

  int Program(const std::string& script) {
    const auto child = processes_->Start("program", {"/bin/sh", "-c", script});
    EXPECT_TRUE(child.ok()) << child.status();
    return child.value_or(-1);
  }

  const std::unique_ptr<BenchProcesses> processes_;
};

TEST_F(BenchProcessesTest, EveryChildIsAskedAndAnswersInOrder) {
  const int one = Peer(kAnswerAll, "11");
  const int two = Peer(kAnswerAll, "22");
  EXPECT_THAT(*processes_->AwaitReplies({one, two}),
              ElementsAre(ElementsAre(7), ElementsAre(7)));
  EXPECT_THAT(*processes_->Ask({two, one}, {PeerRequest::kPush, 5}),
              ElementsAre(ElementsAre(5, 22), ElementsAre(5, 11)));
  EXPECT_THAT(*processes_->Ask({one}, {PeerRequest::kPull, 6}),
              ElementsAre(ElementsAre(6, 11)));
  EXPECT_TRUE(processes_->CpuTimeOfAll({one, two}).ok());
  EXPECT_TRUE(processes_->AwaitEnd(kBound).ok());
}

TEST_F(BenchProcessesTest, SeveralRequestsMayBeOnTheirWay) {
  const int peer = Peer(kAnswerAll);
  ASSERT_TRUE(processes_->AwaitReplies({peer}).ok());
  processes_->Send({peer}, {PeerRequest::kPush, 1});
  processes_->Send({peer}, {PeerRequest::kReport, 2});
  EXPECT_THAT(*processes_->AwaitReplies({peer}),
              ElementsAre(ElementsAre(1, 0)));
  EXPECT_THAT(*processes_->AwaitReplies({peer}),
              ElementsAre(ElementsAre(2, 0)));
}

TEST_F(BenchProcessesTest, ThePeriodicCallIsMadeWhileAnAnswerIsAwaited) {
  // The child answers after a request, which the third call sends.
  const int peer = Peer("read go; echo ok 1; read never");
  int calls = 0;
  absl::StatusOr<int64_t> memory = 0;
  processes_->CallEvery(absl::Milliseconds(1), [&] {
    memory = processes_->ResidentBytes(peer);
    if (++calls == 3) processes_->Send({peer}, {PeerRequest::kPush, 0});
  });
  EXPECT_THAT(*processes_->AwaitReplies({peer}), ElementsAre(ElementsAre(1)));
  EXPECT_GE(calls, 3);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_GT(*memory, 0);

  calls = 0;
  processes_->CallEvery(absl::ZeroDuration(), nullptr);
  const int other = Peer("echo ok 2; read never");
  ASSERT_TRUE(processes_->AwaitReplies({other}).ok());
  EXPECT_EQ(calls, 0);
}

TEST_F(BenchProcessesTest, APipeIsInheritedByItsOwnChildOnly) {
  const std::string count_files = "set -- /proc/$$/fd/*; echo ok $#; cat";
  const int one = Peer(count_files);
  const auto files_of_one = processes_->AwaitReplies({one});
  ASSERT_TRUE(files_of_one.ok()) << files_of_one.status();
  const int two = Peer(count_files);
  EXPECT_EQ(*processes_->AwaitReplies({two}), *files_of_one);
}

TEST_F(BenchProcessesTest, AnErrorThatAPeerSaysIsNamed) {
  const int peer = Peer("echo 'error out of memory'; read never");
  const absl::Status status = processes_->AwaitReplies({peer}).status();
  EXPECT_EQ(status, absl::AbortedError("peer 0: out of memory"));
}

TEST_F(BenchProcessesTest, TheLastWordsOfAPeerThatEndsAreItsReason) {
  // The test waits for another child.
  const int silent = Peer("read never");
  Peer("echo 'error out of memory'; exit 1", "1");
  EXPECT_EQ(processes_->AwaitReplies({silent}).status(),
            absl::AbortedError("peer 1 exited with code 1: out of memory"));
}

TEST_F(BenchProcessesTest, TheLastErrorOfALogIsTheReason) {
  const int silent = Peer("read never");
  Program(
      "echo 'E1122 1 server.cc:1] disk full' >&2;"
      "echo 'I1122 1 server.cc:2] going' >&2; exit 3");
  EXPECT_EQ(processes_->AwaitReplies({silent}).status(),
            absl::AbortedError("program exited with code 3: disk full"));
  // All later calls fail, too.
  EXPECT_EQ(processes_->Ask({silent}, {PeerRequest::kPush, 1}).status().code(),
            absl::StatusCode::kAborted);
}

TEST_F(BenchProcessesTest, AChildThatIsKilledIsNamed) {
  const int peer = Peer("kill -9 $$");
  EXPECT_THAT(processes_->AwaitReplies({peer}).status().message(),
              HasSubstr("peer 0 was killed by signal 9"));
}

TEST_F(BenchProcessesTest, AnEndWithoutErrorIsTooEarlyUntilItIsExpected) {
  const int silent = Peer("read never");
  Program("exit 0");
  EXPECT_EQ(processes_->AwaitReplies({silent}).status(),
            absl::AbortedError("program exited with code 0"));
}

TEST_F(BenchProcessesTest, AnExpectedEndIsNoAnswer) {
  processes_->ExpectEnd();
  const int peer = Peer("exit 0");
  EXPECT_EQ(processes_->AwaitReplies({peer}).status(),
            absl::AbortedError("peer 0 has ended without an answer"));
  EXPECT_TRUE(processes_->AwaitEnd(kBound).ok());
}

TEST_F(BenchProcessesTest, AnErrorAtTheEndCounts) {
  const int peer = Peer("echo 'ok '; cat; exit 4");
  ASSERT_TRUE(processes_->AwaitReplies({peer}).ok());
  EXPECT_EQ(processes_->AwaitEnd(kBound),
            absl::AbortedError("peer 0 exited with code 4"));
}

TEST_F(BenchProcessesTest, AnEndThatDoesNotComeIsSaid) {
  Program("read never < /dev/zero");
  EXPECT_THAT(processes_->AwaitEnd(absl::ZeroDuration()).message(),
              HasSubstr("1 processes have not ended"));
}

TEST_F(BenchProcessesTest, WhatIsNoAnswerIsSaid) {
  const int peer = Peer("echo hello; cat");
  EXPECT_THAT(processes_->AwaitReplies({peer}).status().message(),
              HasSubstr("peer 0: \"hello\" is no answer of the bench"));
}

TEST_F(BenchProcessesTest, CtrlCInterruptsTheWait) {
  const int peer = Peer("read never");
  raise(SIGINT);
  EXPECT_TRUE(absl::IsCancelled(processes_->AwaitReplies({peer}).status()));
}

TEST_F(BenchProcessesTest, AFileIsAwaited) {
  std::string folder = absl::StrCat(testing::TempDir(), "/processes.XXXXXX");
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/address";
  EXPECT_THAT(
      processes_->AwaitFile(path, absl::ZeroDuration()).status().message(),
      HasSubstr(absl::StrCat(path, " is not there after 0")));
  Program(absl::StrCat("printf host:1 > ", path, ".new; mv ", path, ".new ",
                       path, "; read never < /dev/zero"));
  const auto text = processes_->AwaitFile(path, kBound);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "host:1");
  std::filesystem::remove_all(folder);
}

TEST_F(BenchProcessesTest, AProgramThatIsNotThereIsNamed) {
  EXPECT_THAT(processes_->Start("server", {"/no/server"}).status().message(),
              HasSubstr("server: cannot run /no/server"));
}

}  // namespace
}  // namespace ps
