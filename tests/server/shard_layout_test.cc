// Invalid layouts from a peer, and the positions of tensors in slices.
#include "server/shard_layout.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

ShardLayout TwoBuckets() {
  ShardLayout layout;
  layout.bucket_sizes = {10, 7};
  layout.total_iterations = 1;
  layout.tensor_sizes = {4, 6, 7};
  layout.tensor_is_matrix = {true, false, true};
  return layout;
}

std::string ErrorOf(const ShardLayout& layout) {
  return std::string(CheckLayout(layout).message());
}

TEST(ShardLayout, TensorsMustFillTheBuckets) {
  EXPECT_TRUE(CheckLayout(TwoBuckets()).ok());
  ShardLayout layout = TwoBuckets();
  layout.tensor_sizes = {};
  layout.tensor_is_matrix = {};
  EXPECT_TRUE(CheckLayout(layout).ok()) << "they need not be said";
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{4, 7, 6},
                                         {4, 5, 8},
                                         {0, 10, 7},
                                         {-4, 14, 7},
                                         {10, 7, 1},
                                         {10, int64_t{1} << 62, 7}}) {
    layout = TwoBuckets();
    layout.tensor_sizes = sizes;
    EXPECT_THAT(ErrorOf(layout), HasSubstr("tensor_sizes"));
  }
  layout = TwoBuckets();
  layout.tensor_sizes.pop_back();
  layout.tensor_is_matrix.pop_back();
  EXPECT_THAT(ErrorOf(layout), HasSubstr("bucket 1 on must be at least 1 and "
                                         "add up to its 7 elements"));
  layout = TwoBuckets();
  layout.tensor_is_matrix.pop_back();
  EXPECT_THAT(ErrorOf(layout), HasSubstr("tensor_is_matrix has 2 elements"));
}

TEST(ShardLayout, RatesAreThoseOfAllTensors) {
  ShardLayout layout = TwoBuckets();
  layout.tensor_rates = {1, 0.5, 2};
  EXPECT_TRUE(CheckLayout(layout).ok());
  EXPECT_EQ(LayoutOf(RegistrationOf(layout)), layout);
  EXPECT_FALSE(layout == TwoBuckets());
  const auto stretches =
      TensorMap(layout).Stretches({/*bucket=*/0, 0, 0, 0, 0, 2, 9});
  ASSERT_EQ(stretches.size(), 2u);
  EXPECT_EQ(stretches[0].rate, 1);
  EXPECT_EQ(stretches[1].rate, 0.5);
  for (const double rate :
       {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    layout.tensor_rates[1] = rate;
    EXPECT_THAT(ErrorOf(layout), HasSubstr("must be finite and above 0"));
  }
  layout.tensor_rates = {1, 2};
  EXPECT_THAT(ErrorOf(layout), HasSubstr("tensor_rates has 2 elements"));
}

TEST(TensorMap, CutsTensorsWhereSlicesEnd) {
  const TensorMap map(TwoBuckets());
  EXPECT_EQ(map.num_tensors(), 3);
  const auto stretches = map.Stretches({/*bucket=*/0, 0, 0, 0, 0, 2, 9});
  ASSERT_EQ(stretches.size(), 2u);
  EXPECT_EQ(stretches[0].tensor, 0);
  EXPECT_EQ(stretches[0].begin, 0);
  EXPECT_EQ(stretches[0].end, 2);
  EXPECT_TRUE(stretches[0].adapt);
  EXPECT_EQ(stretches[1].tensor, 1);
  EXPECT_EQ(stretches[1].begin, 2);
  EXPECT_EQ(stretches[1].end, 7);
  EXPECT_FALSE(stretches[1].adapt);
  const auto last = map.Stretches({/*bucket=*/1, 0, 0, 0, 0, 0, 7});
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].tensor, 2);
  EXPECT_EQ(last[0].end, 7);
}

TEST(TensorMap, EveryElementIsInOneStretchOfItsTensor) {
  const ShardLayout layout = TwoBuckets();
  const TensorMap map(layout);
  for (int bucket = 0; bucket < 2; ++bucket) {
    const int64_t size = layout.bucket_sizes[bucket];
    for (int64_t begin = 0; begin < size; ++begin) {
      for (int64_t end = begin + 1; end <= size; ++end) {
        int64_t at = 0;
        for (const auto& each :
             map.Stretches({bucket, 0, 0, 0, 0, begin, end})) {
          EXPECT_EQ(each.begin, at);
          for (int64_t i = each.begin; i < each.end; ++i) {
            const int64_t place = bucket * 10 + begin + i;
            EXPECT_EQ(each.tensor, place < 4 ? 0 : place < 10 ? 1 : 2);
          }
          at = each.end;
        }
        EXPECT_EQ(at, end - begin);
      }
    }
  }
}

TEST(TensorMap, WithoutTensorsABucketIsOne) {
  ShardLayout layout = TwoBuckets();
  layout.tensor_sizes = {};
  layout.tensor_is_matrix = {};
  const TensorMap map(layout);
  EXPECT_EQ(map.num_tensors(), 2);
  const auto stretches = map.Stretches({/*bucket=*/1, 0, 0, 0, 0, 2, 5});
  ASSERT_EQ(stretches.size(), 1u);
  EXPECT_EQ(stretches[0].tensor, 1);
  EXPECT_TRUE(stretches[0].adapt);
}

}  // namespace
}  // namespace ps
