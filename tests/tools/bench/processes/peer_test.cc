#include "tools/bench/processes/peer.h"

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PeerMessages, RequestsComeBack) {
  for (const auto verb :
       {PeerRequest::kPush, PeerRequest::kPull, PeerRequest::kCheck,
        PeerRequest::kReport, PeerRequest::kFinish}) {
    for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{1} << 40}) {
      const auto request = ParseRequest(FormatRequest({verb, count}));
      ASSERT_TRUE(request.ok()) << request.status();
      EXPECT_EQ(request->verb, verb);
      EXPECT_EQ(request->count, count);
    }
  }
}

TEST(PeerMessages, OtherRequestsAreRefused) {
  for (const char* line : {"", "push", "push 1 2", "push -1", "push x",
                           "shove 1", "push  1", "push 1 "}) {
    EXPECT_EQ(ParseRequest(line).status().code(),
              absl::StatusCode::kInvalidArgument)
        << line;
  }
  EXPECT_EQ(ParseRequest("shove 1").status().message(),
            "\"shove 1\" is no request of the bench");
}

TEST(PeerMessages, RepliesComeBack) {
  const std::vector<int64_t> nothing;
  EXPECT_THAT(*ParseReply(FormatReply(nothing)), IsEmpty());
  EXPECT_THAT(*ParseReply(FormatReply(std::vector<int64_t>{3, -4})),
              ElementsAre(3, -4));
}

TEST(PeerMessages, AnErrorComesBackOnOneLine) {
  const auto reply =
      ParseReply(FormatReply(absl::NotFoundError("no file:\nx.textproto")));
  EXPECT_EQ(reply.status(), absl::AbortedError("no file: x.textproto"));
}

TEST(PeerMessages, OtherRepliesAreRefused) {
  for (const char* line : {"", "okay 1", "1", "ok 1 x"}) {
    EXPECT_THAT(ParseReply(line).status().message(),
                HasSubstr("is no answer of the bench"))
        << line;
  }
}

TEST(PeerMessages, TimingsComeBack) {
  PeerTiming timing;
  timing.start_nanoseconds = 1;
  timing.end_nanoseconds = 2;
  timing.payload_bytes = 3;
  timing.answer_bytes = 4;
  const auto parsed = ParseTiming(TimingNumbers(timing));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->start_nanoseconds, 1);
  EXPECT_EQ(parsed->end_nanoseconds, 2);
  EXPECT_EQ(parsed->payload_bytes, 3);
  EXPECT_EQ(parsed->answer_bytes, 4);
  EXPECT_FALSE(ParseTiming({1, 2, 3}).ok());
}

// Runs the loop in this process.
class PeerLoopTest : public testing::Test {
 protected:
  // The output of the loop for these lines and the end of input.
  std::string Serve(const std::string& requests, const PeerAnswer& ready) {
    std::istringstream input(requests);
    testing::internal::CaptureStdout();
    exit_code_ = ServePeer(
        &input, [&] { return ready; },
        [](const PeerRequest& request) -> PeerAnswer {
          if (request.verb == PeerRequest::kCheck) {
            return absl::DataLossError("element 3\nis wrong");
          }
          return std::vector<int64_t>{request.count, 2 * request.count};
        });
    return testing::internal::GetCapturedStdout();
  }

  int exit_code_ = -1;
};

const PeerAnswer kReady = std::vector<int64_t>{7};

TEST_F(PeerLoopTest, EveryRequestIsAnsweredInTurn) {
  EXPECT_EQ(Serve("push 1\npull 20\n", kReady), "ok 7\nok 1 2\nok 20 40\n");
  EXPECT_EQ(exit_code_, 0);
  EXPECT_EQ(Serve("", kReady), "ok 7\n");
  EXPECT_EQ(exit_code_, 0);
}

TEST_F(PeerLoopTest, AnErrorIsTheLastWord) {
  EXPECT_EQ(Serve("push 1\ncheck 1\npush 1\n", kReady),
            "ok 7\nok 1 2\nerror 10 element 3 is wrong\n");
  EXPECT_EQ(exit_code_, 1);
}

TEST_F(PeerLoopTest, WhoCannotStartSaysWhy) {
  EXPECT_EQ(Serve("push 1\n", absl::NotFoundError("no job")),
            "error 10 no job\n");
  EXPECT_EQ(exit_code_, 1);
}

TEST_F(PeerLoopTest, WhatIsNoRequestIsSaid) {
  EXPECT_THAT(Serve("shove 1\n", kReady),
              HasSubstr("error 10 \"shove 1\" is no request of the bench"));
  EXPECT_EQ(exit_code_, 1);
}

}  // namespace
}  // namespace ps
