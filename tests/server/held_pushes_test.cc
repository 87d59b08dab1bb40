// A push that is sent again while the server holds it.
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/raw_worker.h"
#include "transport/slice_message.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kElements = 100;

SliceMessage HeaderOf(int rank) {
  SliceMessage header;
  header.mutable_worker()->set_rank(rank);
  header.mutable_worker()->set_incarnation(1);
  return header;
}

// The credit lasts for one push. The slice keeps the payload of the first call,
// so a repeat that needed credit of its own would be refused until the slowest
// worker has pushed, however often it is sent.
TEST(HeldPushes, ARepeatTakesOverTheAnswerAndNeedsNoCredit) {
  JobConfig config = PatientJob(/*num_workers=*/2);
  config.mutable_cluster()->set_credit_megabytes(1e-6);
  RunningServer server(config);
  RawWorker worker(server.address());
  for (int rank = 0; rank < 2; ++rank) {
    const absl::Status registered =
        worker.Register(RawWorker::ValidRegistration(
            config, HeaderOf(rank).worker(), {kElements}));
    ASSERT_TRUE(registered.ok()) << registered;
  }
  const PayloadBuffer ones = EncodeDense(std::vector<float>(kElements, 1.0f));
  ASSERT_TRUE(
      worker.Call("InitializeSlice", MessageBytes(HeaderOf(0), ones)).ok());
  const auto push = [&](int rank) {
    return worker.Call("Push", MessageBytes(HeaderOf(rank), ones)).status();
  };
  absl::Status first;
  std::thread calling([&] { first = push(0); });
  while (worker.GetStatus()->awaited_ranks_size() == 2) {
  }
  absl::Status repeat;
  std::thread repeating([&] { repeat = push(0); });
  calling.join();
  EXPECT_TRUE(absl::IsCancelled(first)) << first;
  EXPECT_THAT(std::string(first.message()), HasSubstr("repeat"));
  const absl::Status other = push(1);
  EXPECT_TRUE(other.ok()) << other;
  repeating.join();
  EXPECT_TRUE(repeat.ok()) << repeat;
  EXPECT_EQ(worker.GetStatus()->version(), 1);
}

}  // namespace
}  // namespace ps
