#include "tools/bench/processes/peer_messages.h"

#include <cstdint>
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

}  // namespace
}  // namespace ps
