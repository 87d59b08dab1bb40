// How the counts of workers are sent to another process. replay_group_test.cc
// tests running workers.
#include "tools/bench/load/replay_worker.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace ps {
namespace {

ReplayCounts Counts(int64_t scale) {
  ReplayCounts counts;
  counts.pushes = 2 * scale;
  counts.payload_bytes = 300 * scale;
  counts.answer_bytes = 4000 * scale;
  counts.push.Add(5 * scale);
  counts.push.Add(600 * scale);
  counts.iteration.Add(7000 * scale);
  return counts;
}

TEST(ReplayCounts, NumbersComeBack) {
  for (const ReplayCounts& counts : {Counts(1), ReplayCounts()}) {
    const auto back = ReplayCounts::FromNumbers(counts.Numbers());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->Numbers(), counts.Numbers());
    EXPECT_EQ(back->pushes, counts.pushes);
    EXPECT_EQ(back->payload_bytes, counts.payload_bytes);
    EXPECT_EQ(back->answer_bytes, counts.answer_bytes);
    EXPECT_EQ(back->push.count(), counts.push.count());
    EXPECT_EQ(back->iteration.largest(), counts.iteration.largest());
  }
}

TEST(ReplayCounts, AddUp) {
  ReplayCounts sum = Counts(1);
  sum.Add(Counts(10));
  EXPECT_EQ(sum.pushes, 22);
  EXPECT_EQ(sum.payload_bytes, 3300);
  EXPECT_EQ(sum.answer_bytes, 44000);
  EXPECT_EQ(sum.push.count(), 4);
  EXPECT_EQ(sum.iteration.count(), 2);
  EXPECT_EQ(sum.iteration.largest(), 70000);
}

TEST(ReplayCounts, OtherNumbersAreRefused) {
  std::vector<int64_t> numbers = Counts(1).Numbers();
  for (size_t size = 0; size < numbers.size(); ++size) {
    const std::vector<int64_t> cut(numbers.begin(), numbers.begin() + size);
    // Numbers that are cut between two buckets form a histogram with fewer
    // buckets.
    if (size == numbers.size() - 2) continue;
    EXPECT_FALSE(ReplayCounts::FromNumbers(cut).ok()) << size;
  }
  numbers[3] = 1000;
  EXPECT_FALSE(ReplayCounts::FromNumbers(numbers).ok());
  numbers[3] = -1;
  EXPECT_FALSE(ReplayCounts::FromNumbers(numbers).ok());
}

}  // namespace
}  // namespace ps
