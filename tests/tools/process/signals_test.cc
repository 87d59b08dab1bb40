#include "tools/process/signals.h"

#include <poll.h>
#include <signal.h>

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

bool Readable(int fd) {
  pollfd polled = {fd, POLLIN, 0};
  return poll(&polled, 1, /*timeout=*/0) == 1;
}

TEST(InterruptsTest, SignalsAreCountedInsteadOfEndingTheProcess) {
  signal(SIGHUP, SIG_DFL);  // The test itself may run under nohup.
  auto interrupts = Interrupts::Create();
  ASSERT_TRUE(interrupts.ok()) << interrupts.status();
  EXPECT_FALSE(Readable((*interrupts)->fd()));
  EXPECT_EQ((*interrupts)->Take(), 0);
  raise(SIGINT);
  raise(SIGTERM);
  raise(SIGHUP);
  EXPECT_TRUE(Readable((*interrupts)->fd()));
  EXPECT_EQ((*interrupts)->Take(), 3);
  EXPECT_FALSE(Readable((*interrupts)->fd()));
  EXPECT_EQ((*interrupts)->Take(), 0);
}

TEST(InterruptsTest, OnlyOneMayExist) {
  auto first = Interrupts::Create();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(Interrupts::Create().status().code(),
            absl::StatusCode::kFailedPrecondition);
  first->reset();
  EXPECT_TRUE(Interrupts::Create().ok());
}

TEST(InterruptsTest, AfterwardsTheSignalsDoWhatTheyDidBefore) {
  signal(SIGINT, SIG_IGN);
  {
    auto interrupts = Interrupts::Create();
    ASSERT_TRUE(interrupts.ok()) << interrupts.status();
  }
  EXPECT_EQ(signal(SIGINT, SIG_DFL), SIG_IGN);
}

TEST(InterruptsTest, AHangUpThatIsIgnoredStaysSo) {
  signal(SIGHUP, SIG_IGN);  // As under nohup.
  {
    auto interrupts = Interrupts::Create();
    ASSERT_TRUE(interrupts.ok()) << interrupts.status();
    raise(SIGHUP);
    EXPECT_EQ((*interrupts)->Take(), 0);
  }
  EXPECT_EQ(signal(SIGHUP, SIG_DFL), SIG_IGN);
}

TEST(InterruptsTest, MoreSignalsThanThePipeHoldsDoNotBlock) {
  auto interrupts = Interrupts::Create();
  ASSERT_TRUE(interrupts.ok()) << interrupts.status();
  for (int i = 0; i < 100'000; ++i) raise(SIGINT);
  EXPECT_GE((*interrupts)->Take(), 4096);
}

}  // namespace
}  // namespace ps
