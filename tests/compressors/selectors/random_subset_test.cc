#include "compressors/selectors/random_subset.h"

#include <map>
#include <vector>

#include "gtest/gtest.h"

namespace ps {
namespace {

TEST(DrawSubsetTest, HasDistinctAscendingNumbersBelowN) {
  for (const int64_t n : {1, 5, 63, 64, 65, 128, 1000}) {
    for (int64_t k = 0; k <= n; k += 1 + n / 20) {
      RandomStream random(RandomKey(n, k));
      const std::vector<uint32_t> subset = DrawSubset(n, k, &random);
      ASSERT_EQ(static_cast<int64_t>(subset.size()), k);
      for (int64_t i = 0; i < k; ++i) {
        EXPECT_LT(subset[i], n);
        if (i > 0) {
          EXPECT_GT(subset[i], subset[i - 1]);
        }
      }
    }
  }
  RandomStream random(1);
  EXPECT_TRUE(DrawSubset(0, 0, &random).empty());
}

// There are 10 subsets of 2, or of 3, of 5 numbers. Each is drawn equally
// often, within four standard deviations, sqrt(20000 x 0.1 x 0.9) = 42.
TEST(DrawSubsetTest, EverySubsetIsEquallyLikely) {
  for (const int64_t k : {2, 3}) {
    std::map<std::vector<uint32_t>, int> times;
    RandomStream random(RandomKey(77, k));
    for (int i = 0; i < 20000; ++i) ++times[DrawSubset(5, k, &random)];
    EXPECT_EQ(times.size(), 10u);
    for (const auto& [subset, count] : times) EXPECT_NEAR(count, 2000, 170);
  }
}

}  // namespace
}  // namespace ps
