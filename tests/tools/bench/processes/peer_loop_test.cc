// Runs the loop in this process, with pipes on both sides.
#include "tools/bench/processes/peer_loop.h"

#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class PeerLoopTest : public testing::Test {
 protected:
  // The output of the loop for these lines and the end of input.
  std::string Serve(const std::string& requests, const PeerAnswer& ready) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(write(ends[1], requests.data(), requests.size()),
              static_cast<ssize_t>(requests.size()));
    close(ends[1]);
    testing::internal::CaptureStdout();
    exit_code_ = ServePeer(
        ends[0], [&] { return ready; },
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
            "ok 7\nok 1 2\nerror element 3 is wrong\n");
  EXPECT_EQ(exit_code_, 1);
}

TEST_F(PeerLoopTest, WhoCannotStartSaysWhy) {
  EXPECT_EQ(Serve("push 1\n", absl::NotFoundError("no job")), "error no job\n");
  EXPECT_EQ(exit_code_, 1);
}

TEST_F(PeerLoopTest, WhatIsNoRequestIsSaid) {
  EXPECT_THAT(Serve("shove 1\n", kReady),
              HasSubstr("error \"shove 1\" is no request of the bench"));
  EXPECT_EQ(exit_code_, 1);
}

TEST_F(PeerLoopTest, AClosedDescriptorIsNamed) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(
      ServePeer(
          -1, [] { return kReady; }, [](const PeerRequest&) { return kReady; }),
      1);
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              StartsWith("error --requests-fd is -1; must be an open file"));
}

}  // namespace
}  // namespace ps
