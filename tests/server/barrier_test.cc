#include "server/barrier.h"

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

class BarrierTest : public testing::Test {
 protected:
  void Arrive(int rank, int64_t number) {
    EXPECT_TRUE(barrier_
                    .Arrive(rank, number,
                            std::make_shared<HeldCall>(
                                [this, rank](absl::StatusOr<grpc::ByteBuffer>) {
                                  answered_.push_back(rank);
                                }))
                    .ok());
  }

  std::vector<int> answered_;  // Ranks.
  std::vector<int64_t> held_;  // Numbers of generations.
  Barrier barrier_{3, [this](int64_t number) {
                     held_.push_back(number);
                     return grpc::ByteBuffer();
                   }};
};

TEST_F(BarrierTest, AllAreAnsweredWhenTheLastHasArrived) {
  Arrive(1, 9);
  Arrive(0, 9);
  EXPECT_THAT(answered_, IsEmpty());
  Arrive(2, 9);
  EXPECT_THAT(held_, ElementsAre(9));
  EXPECT_THAT(answered_, ElementsAre(0, 1, 2));
}

TEST_F(BarrierTest, AJoinedWorkerIsAwaitedFromItsGenerationOn) {
  Arrive(0, 18);
  Arrive(1, 18);
  barrier_.WorkerJoins(2, 18);
  EXPECT_THAT(held_, ElementsAre(18));
  Arrive(0, 27);
  Arrive(1, 27);
  EXPECT_THAT(held_, ElementsAre(18));
  Arrive(2, 27);
  EXPECT_THAT(held_, ElementsAre(18, 27));
}

// A server that was killed hears of it when the worker registers again.
TEST_F(BarrierTest, AnEarlierJoinIsToldToANewProcess) {
  Arrive(0, 18);
  EXPECT_TRUE(barrier_.WorkerHasJoined(2, 18));
  EXPECT_THAT(held_, IsEmpty());
  EXPECT_TRUE(barrier_.WorkerHasJoined(1, 18));
  EXPECT_THAT(held_, ElementsAre(18));
  // Its own call waits on when its connection breaks.
  Arrive(1, 27);
  Arrive(2, 27);
  EXPECT_FALSE(barrier_.WorkerHasJoined(1, 18));
  Arrive(0, 27);
  EXPECT_THAT(held_, ElementsAre(18, 27));
  EXPECT_THAT(answered_, ElementsAre(0, 0, 1, 2));
}

}  // namespace
}  // namespace ps
