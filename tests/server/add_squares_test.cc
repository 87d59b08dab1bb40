// Requests for norms from a faulty or hostile peer.
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/norms/server_squares.h"
#include "tests/server/raw_worker.h"
#include "transport/shard_map.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

class AddSquaresTest : public ::testing::Test {
 protected:
  // The server under test is server 0 of two. Of two tensors, which are cut
  // into two and three slices, each server holds every other slice.
  AddSquaresTest()
      : config_(Job()), server_(config_), peer_(server_.address()) {}

  static JobConfig Job() {
    JobConfig job = PatientJob(1);
    job.mutable_cluster()->set_num_servers(2);
    return job;
  }

  void Register() {
    WorkerId worker;
    worker.set_incarnation(1);
    RegisterRequest request = RawWorker::ValidRegistration(
        config_, worker,
        {2 * ShardMap::kElementsPerSlice, 3 * ShardMap::kElementsPerSlice});
    const absl::Status status = peer_.Register(request);
    ASSERT_TRUE(status.ok()) << status;
    SliceMessage first;
    *first.mutable_worker() = worker;
    const auto begun =
        peer_.Call("InitializeSlice",
                   MessageBytes(first, EncodeDense(std::vector<float>(
                                           ShardMap::kElementsPerSlice, 1))));
    ASSERT_TRUE(begun.ok()) << begun.status();
  }

  SquaresMessage Valid(int server_index) const {
    SquaresMessage message;
    message.set_server_index(server_index);
    message.set_config_fingerprint(
        ConfigFingerprint(SharedConfigText(config_)));
    // 1e16 + 1 rounds to 1e16, so the sum shows the order.
    const std::vector<double> gradients =
        server_index == 1 ? std::vector<double>{7, 1}
                          : std::vector<double>{5, 1e16, -1e16};
    for (const double gradient : gradients) {
      message.add_weights(1);
      message.add_gradient(gradient);
      message.add_step(0);
    }
    return message;
  }

  absl::StatusOr<SquaresMessage> Add(const SquaresMessage& request) {
    const absl::StatusOr<std::string> bytes =
        peer_.Call("AddSquares", request.SerializeAsString());
    if (!bytes.ok()) return bytes.status();
    SquaresMessage answer;
    EXPECT_TRUE(answer.ParseFromString(*bytes));
    return answer;
  }

  std::string ErrorOf(const SquaresMessage& request) {
    return std::string(Add(request).status().message());
  }

  const JobConfig config_;
  RunningServer server_;
  RawWorker peer_;
};

TEST_F(AddSquaresTest, AreAddedUpInOrderOfSliceAndRepeated) {
  Register();
  absl::StatusOr<SquaresMessage> first;
  std::thread other([&] {
    RawWorker peer(server_.address());
    const auto bytes = peer.Call("AddSquares", Valid(1).SerializeAsString());
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    SquaresMessage answer;
    ASSERT_TRUE(answer.ParseFromString(*bytes));
    first = answer;
  });
  const auto second = Add(Valid(0));
  other.join();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(second->gradient(), testing::ElementsAre(12, 0));
  EXPECT_THAT(second->weights(), testing::ElementsAre(2, 3));
  EXPECT_EQ(first->SerializeAsString(), second->SerializeAsString());
  EXPECT_EQ(Add(Valid(1))->SerializeAsString(), second->SerializeAsString());
}

TEST_F(AddSquaresTest, BeforeThereAreWeightsTheyMayBeTriedAgain) {
  EXPECT_TRUE(absl::IsUnavailable(Add(Valid(1)).status()));
}

TEST_F(AddSquaresTest, WhatIsMalformedIsRefused) {
  Register();
  const auto garbage = peer_.Call("AddSquares", "\xff\xff\xff\xff");
  EXPECT_TRUE(absl::IsInvalidArgument(garbage.status())) << garbage.status();
  SquaresMessage message = Valid(1);
  message.set_config_fingerprint(message.config_fingerprint() + 1);
  EXPECT_THAT(ErrorOf(message), HasSubstr("another config"));
  message = Valid(1);
  message.add_step(0);
  EXPECT_THAT(ErrorOf(message),
              HasSubstr("squares of 2 weights, 2 gradients and 3 steps"));
  message.add_weights(0);
  message.add_gradient(0);
  EXPECT_THAT(ErrorOf(message),
              HasSubstr("server 1 sent the squares of 3 parts of tensors; it "
                        "holds 2"));
  for (const int server : {2, -1, 1 << 30}) {
    EXPECT_THAT(ErrorOf(Valid(server)), HasSubstr("which holds no weights"));
  }
  message = Valid(1);
  message.set_update(-3);
  EXPECT_THAT(ErrorOf(message), HasSubstr("update -3"));
  EXPECT_TRUE(peer_.GetStatus().ok());
}

}  // namespace
}  // namespace ps
