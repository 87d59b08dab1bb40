// How many bytes a server holds for each worker, and for how long.
#include "server/limits/byte_credit.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/config.pb.h"
#include "server/limits/memory_bound.h"
#include "transport/slice_message.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

TEST(ByteCredit, CountsUntilTheLastCopyIsGone) {
  ByteCredit credit("pushes", 2, 100);
  auto first = credit.Take(0, 60, nullptr);
  ASSERT_TRUE(first.ok());
  std::shared_ptr<const void> copy = *first;
  first = absl::CancelledError("");
  EXPECT_EQ(credit.held_bytes(0), 60);
  const auto refused = credit.Take(0, 41, nullptr);
  EXPECT_TRUE(absl::IsUnavailable(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("worker 0 has 60 bytes of pushes; 41 more would exceed "
                        "the 100 that it may have"));
  EXPECT_EQ(credit.held_bytes(0), 60);
  EXPECT_TRUE(credit.Take(1, 100, nullptr).ok()) << "each for itself";
  copy = nullptr;
  EXPECT_EQ(credit.held_bytes(0), 0);
}

TEST(ByteCredit, IsSetWhileMessagesAreHeld) {
  ByteCredit credit("pushes", 1, 100);
  credit.SetCredit(200);
  auto first = credit.Take(0, 120, nullptr);
  EXPECT_TRUE(credit.Take(0, 80, nullptr).ok());
  credit.SetCredit(50);
  EXPECT_EQ(credit.held_bytes(0), 120);
  EXPECT_FALSE(credit.Take(0, 1, nullptr).ok());
  first = absl::CancelledError("");
  EXPECT_TRUE(credit.Take(0, 50, nullptr).ok());
}

TEST(ByteCredit, LetsOneLongMessageIn) {
  ByteCredit credit("pushes", 1, 100);
  auto long_one = credit.Take(0, 500, nullptr);
  ASSERT_TRUE(long_one.ok());
  EXPECT_FALSE(credit.Take(0, 1, nullptr).ok());
}

TEST(ByteCredit, CountsWhatCannotBeRefused) {
  ByteCredit credit("pushes", 1, 100);
  std::shared_ptr<const void> held = credit.Count(0, 150);
  EXPECT_EQ(credit.held_bytes(0), 150);
  EXPECT_FALSE(credit.Take(0, 1).ok());
  held = nullptr;
  EXPECT_EQ(credit.held_bytes(0), 0);
}

TEST(ByteCredit, KeepsTheOwnerAliveAndMayBeOutlived) {
  auto owner = std::make_shared<int>(7);
  const std::weak_ptr<int> watch = owner;
  std::shared_ptr<const void> held;
  {
    ByteCredit credit("pushes", 1, 100);
    held = *credit.Take(0, 10, std::move(owner));
  }
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(*static_cast<const int*>(held.get()), 7);
  held = nullptr;
  EXPECT_TRUE(watch.expired());
}

// A thousand workers of a small model take little memory of a server.
TEST(CreditBytes, AreAtMostThoseOfFourIterations) {
  JobConfig job;
  job.mutable_cluster()->set_credit_megabytes(64);
  ServerPart part;
  EXPECT_EQ(CreditBytes(job, part), 64 << 20) << "the model is not known yet";
  part.parameters = 1000;
  part.slices = 1;
  EXPECT_EQ(CreditBytes(job, part), 1 << 20);
  part.parameters = 100000;
  const int64_t iteration =
      MaxSliceMessageBytes(part.parameters) + MaxSliceMessageBytes(0);
  EXPECT_EQ(CreditBytes(job, part), 4 * iteration);
  job.mutable_cluster()->set_credit_megabytes(0.001);
  EXPECT_EQ(CreditBytes(job, part), 1048);
  job.mutable_optimizer()->set_name("lars");
  EXPECT_EQ(CreditBytes(job, part), iteration) << "which needs norms";
}

}  // namespace
}  // namespace ps
