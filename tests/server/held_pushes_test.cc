// A push that is sent again while the server holds it.
#include "server/held_pushes.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/raw_worker.h"
#include "transport/slice_message.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kElements = 100;

SliceMessage HeaderOf(int rank, uint64_t incarnation = 1) {
  SliceMessage header;
  header.mutable_worker()->set_rank(rank);
  header.mutable_worker()->set_incarnation(incarnation);
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

// The push of the process before it is still held.
TEST(HeldPushes, AnotherProcessOfTheWorkerRepeatsNothing) {
  HeldPushes held;
  const auto call = [] {
    return std::make_shared<HeldCall>(
        [](const absl::StatusOr<grpc::ByteBuffer>&) {});
  };
  const auto old_call = call(), new_call = call();
  const HeldPushes::Id old_push = {1, /*incarnation=*/7, 5, 0, 0};
  const HeldPushes::Id new_push = {1, /*incarnation=*/8, 5, 0, 0};
  EXPECT_TRUE(held.Hold(old_push, old_call));
  EXPECT_TRUE(held.Hold(new_push, new_call));
  EXPECT_EQ(held.Release(new_push), new_call);
  EXPECT_EQ(held.Release(old_push), old_call);
}

// Two pulls of the only slice: one waits for the others' pushes, and then there
// is no room for another answer.
TEST(HeldPushes, AnswersThatAreNotReadAreLimited) {
  JobConfig config = PatientJob(/*num_workers=*/2);
  config.mutable_consistency()->set_mode(ConsistencyConfig::ASYNCHRONOUS);
  config.mutable_cluster()->set_credit_megabytes(1e-6);
  auto server = std::make_unique<RunningServer>(config);
  RawWorker worker(server->address());
  constexpr int64_t kLong = 2000;
  for (int rank = 0; rank < 2; ++rank) {
    const absl::Status registered = worker.Register(
        RawWorker::ValidRegistration(config, HeaderOf(rank).worker(), {kLong}));
    ASSERT_TRUE(registered.ok()) << registered;
  }
  const std::string message =
      MessageBytes(HeaderOf(0), EncodeDense(std::vector<float>(kLong, 1.0f)));
  ASSERT_TRUE(worker.Call("InitializeSlice", message).ok());
  SliceMessage pull = HeaderOf(0);
  pull.set_iteration(1);
  std::atomic<int> num_refused{0};
  std::vector<std::thread> pulling;
  for (int i = 0; i < 2; ++i) {
    pulling.emplace_back([&] {
      const auto answer = worker.Call("Pull", pull.SerializeAsString());
      const std::string message(answer.status().message());
      if (absl::StrContains(message, "answers that it has not read")) {
        EXPECT_TRUE(absl::IsUnavailable(answer.status())) << answer.status();
        ++num_refused;
      }
    });
  }
  while (num_refused == 0) {
  }
  server = nullptr;  // Answers the other one.
  for (std::thread& thread : pulling) thread.join();
  EXPECT_EQ(num_refused, 1);
}

}  // namespace
}  // namespace ps
