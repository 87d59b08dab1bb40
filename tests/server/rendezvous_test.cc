#include "server/rendezvous.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "grpcpp/support/byte_buffer.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RendezvousTest : public testing::Test {
 protected:
  void Come(int rank, int64_t number) {
    EXPECT_TRUE(rendezvous_
                    .Come(rank, number,
                          std::make_shared<HeldCall>(
                              [this, rank](absl::StatusOr<grpc::ByteBuffer>) {
                                answered_.push_back(rank);
                              }))
                    .ok());
  }

  std::vector<int> answered_;  // Ranks.
  std::vector<int64_t> held_;  // Numbers of meetings.
  Rendezvous rendezvous_{3, [this](int64_t number) {
                           held_.push_back(number);
                           return grpc::ByteBuffer();
                         }};
};

TEST_F(RendezvousTest, AllAreAnsweredWhenTheLastHasCome) {
  Come(1, 9);
  Come(0, 9);
  EXPECT_THAT(answered_, IsEmpty());
  Come(2, 9);
  EXPECT_THAT(held_, ElementsAre(9));
  EXPECT_THAT(answered_, ElementsAre(0, 1, 2));
}

TEST_F(RendezvousTest, WhoJoinsComesToLaterMeetings) {
  Come(0, 18);
  Come(1, 18);
  rendezvous_.WorkerJoins(2, 18);
  EXPECT_THAT(held_, ElementsAre(18));
  Come(0, 27);
  Come(1, 27);
  EXPECT_THAT(held_, ElementsAre(18));
  Come(2, 27);
  EXPECT_THAT(held_, ElementsAre(18, 27));
}

// A server that was killed hears of it when the worker registers again.
TEST_F(RendezvousTest, WhoHasJoinedEarlierSaysSoToANewProcess) {
  Come(0, 18);
  EXPECT_TRUE(rendezvous_.WorkerHasJoined(2, 18));
  EXPECT_THAT(held_, IsEmpty());
  EXPECT_TRUE(rendezvous_.WorkerHasJoined(1, 18));
  EXPECT_THAT(held_, ElementsAre(18));
  // Its own call waits on when its connection breaks.
  Come(1, 27);
  Come(2, 27);
  EXPECT_FALSE(rendezvous_.WorkerHasJoined(1, 18));
  Come(0, 27);
  EXPECT_THAT(held_, ElementsAre(18, 27));
  EXPECT_THAT(answered_, ElementsAre(0, 0, 1, 2));
}

}  // namespace
}  // namespace ps
