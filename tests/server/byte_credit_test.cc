// How many bytes a server holds for each worker, and for how long.
#include "server/limits/byte_credit.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

TEST(ByteCredit, GrowsButNeverShrinks) {
  ByteCredit credit("pushes", 1, 100);
  credit.Raise(50);
  EXPECT_EQ(credit.bytes_per_worker(), 100);
  credit.Raise(200);
  EXPECT_EQ(credit.bytes_per_worker(), 200);
  const auto first = credit.Take(0, 120, nullptr);
  EXPECT_TRUE(credit.Take(0, 80, nullptr).ok());
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

}  // namespace
}  // namespace ps
