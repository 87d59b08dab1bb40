#include "server/slices/change_log.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ChangeLog, GivesTheUnionSinceAVersion) {
  ChangeLog log(1000);
  const std::vector<std::vector<uint32_t>> updates = {{5, 999}, {0, 5}, {64}};
  for (const auto& changed : updates) log.Add(changed);
  std::vector<uint32_t> indices;
  ASSERT_TRUE(log.Since(3, &indices));
  EXPECT_THAT(indices, IsEmpty());
  ASSERT_TRUE(log.Since(2, &indices));
  EXPECT_THAT(indices, ElementsAre(64));
  ASSERT_TRUE(log.Since(0, &indices));
  EXPECT_THAT(indices, ElementsAre(0, 5, 64, 999));
}

TEST(ChangeLog, ForgetsWhatIsLongerThanAllWeights) {
  ChangeLog log(16);
  const std::vector<uint32_t> three = {1, 2, 3};
  const std::vector<uint32_t> one = {7};
  log.Add(three);
  log.Add(one);
  log.Add(one);
  std::vector<uint32_t> indices;
  ASSERT_TRUE(log.Since(0, &indices));
  log.Add(one);
  EXPECT_EQ(log.size(), 3);
  EXPECT_FALSE(log.Since(0, &indices));
  ASSERT_TRUE(log.Since(1, &indices));
  EXPECT_THAT(indices, ElementsAre(7));
}

TEST(ChangeLog, ForgetsUpdatesThatChangedNothing) {
  ChangeLog log(16);
  const std::vector<uint32_t> nothing;
  for (int update = 0; update < 100; ++update) log.Add(nothing);
  std::vector<uint32_t> indices;
  EXPECT_TRUE(log.Since(100 - 8, &indices));
  EXPECT_FALSE(log.Since(100 - 9, &indices));
}

TEST(ChangeLog, AnUpdateOfEverythingHidesWhatWasBefore) {
  ChangeLog log(16);
  const std::vector<uint32_t> one = {7};
  log.Add(one);
  log.AddAll();
  log.Add(one);
  std::vector<uint32_t> indices;
  EXPECT_FALSE(log.Since(1, &indices));
  EXPECT_TRUE(log.Since(2, &indices));
}

TEST(ChangeLog, AgreesWithSets) {
  constexpr uint32_t kElements = 5000;
  std::mt19937 random(1);
  ChangeLog log(kElements);
  std::vector<std::set<uint32_t>> all;
  for (int update = 0; update < 200; ++update) {
    std::set<uint32_t> changed;
    for (uint32_t n = random() % 60; n > 0; --n) {
      changed.insert(random() % kElements);
    }
    const std::vector<uint32_t> list(changed.begin(), changed.end());
    log.Add(list);
    all.push_back(changed);
    const int64_t since = update + 1 - random() % std::min(update + 1, 30);
    std::set<uint32_t> expected;
    for (size_t i = since; i < all.size(); ++i) {
      expected.insert(all[i].begin(), all[i].end());
    }
    std::vector<uint32_t> indices;
    ASSERT_TRUE(log.Since(since, &indices));
    EXPECT_EQ(indices, std::vector<uint32_t>(expected.begin(), expected.end()));
  }
}

}  // namespace
}  // namespace ps
