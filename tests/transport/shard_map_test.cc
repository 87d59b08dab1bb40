#include "transport/shard_map.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

ShardMapOptions Options(std::vector<int64_t> bucket_sizes, int num_servers,
                        int64_t max_slice_elements) {
  ShardMapOptions options;
  options.bucket_sizes = std::move(bucket_sizes);
  options.num_servers = num_servers;
  options.max_slice_elements = max_slice_elements;
  return options;
}

ShardMap Make(const ShardMapOptions& options) {
  absl::StatusOr<ShardMap> map = ShardMap::Create(options);
  EXPECT_TRUE(map.ok()) << map.status();
  return *std::move(map);
}

// Elements of each server's share of a bucket.
std::vector<int64_t> Loads(const ShardMap& map, int bucket) {
  std::vector<int64_t> loads(map.num_servers());
  for (const Slice& slice : map.slices(bucket)) {
    loads[slice.server] += slice.size();
  }
  return loads;
}

bool SameSlices(const ShardMap& a, const ShardMap& b) {
  if (a.num_buckets() != b.num_buckets()) return false;
  const auto same = [](const Slice& x, const Slice& y) {
    return x.bucket == y.bucket && x.index == y.index && x.server == y.server &&
           x.begin == y.begin && x.end == y.end;
  };
  for (int i = 0; i < a.num_buckets(); ++i) {
    const auto& left = a.slices(i);
    const auto& right = b.slices(i);
    if (!std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    same)) {
      return false;
    }
  }
  return true;
}

constexpr int64_t kSizes[] = {1,    2,    3,       7,       8,         9,
                              1023, 1024, 1025,    99991,   1 << 20,   61706,
                              4097, 5000, 1234567, 9999999, 1000000007};

TEST(ShardMapTest, SlicesTileEveryBucketInOrderWithoutGaps) {
  for (const int64_t size : kSizes) {
    for (const int servers : {1, 2, 3, 7, 256}) {
      const ShardMap map = Make(Options({size, 17}, servers, 1 << 17));
      ASSERT_EQ(map.num_buckets(), 2);
      int64_t covered = 0;
      int last_server = 0;
      for (size_t i = 0; i < map.slices(0).size(); ++i) {
        const Slice& slice = map.slices(0)[i];
        EXPECT_EQ(slice.bucket, 0);
        EXPECT_EQ(slice.index, static_cast<int>(i));
        EXPECT_EQ(slice.begin, covered);
        EXPECT_GT(slice.end, slice.begin);
        EXPECT_GE(slice.server, last_server);
        EXPECT_LT(slice.server, servers);
        last_server = slice.server;
        covered = slice.end;
      }
      EXPECT_EQ(covered, size) << servers << " servers";
      EXPECT_EQ(map.slices(1).front().bucket, 1);
    }
  }
}

TEST(ShardMapTest, LoadsOfServersDifferByAtMostOneElement) {
  for (const int64_t size : kSizes) {
    for (const int servers : {1, 2, 3, 7, 255, 256}) {
      const std::vector<int64_t> loads =
          Loads(Make(Options({size}, servers, 1 << 17)), 0);
      const auto ends = std::minmax_element(loads.begin(), loads.end());
      EXPECT_LE(*ends.second - *ends.first, 1)
          << size << " elements on " << servers << " servers";
    }
  }
}

TEST(ShardMapTest, NoSliceIsLongerThanOneMessage) {
  for (const int64_t size : {int64_t{1}, int64_t{1024}, int64_t{1025},
                             int64_t{4097}, int64_t{100003}}) {
    for (const int64_t longest : {1024, 1025, 5000}) {
      const ShardMap map = Make(Options({size}, 3, longest));
      size_t needed = 0;
      for (const int64_t load : Loads(map, 0)) {
        needed += (load + longest - 1) / longest;
      }
      EXPECT_EQ(map.slices(0).size(), needed);
      for (const Slice& slice : map.slices(0)) {
        EXPECT_LE(slice.size(), longest);
      }
    }
  }
}

TEST(ShardMapTest, FewerElementsThanServersLeavesSomeWithoutSlices) {
  const ShardMap map = Make(Options({3}, 8, 1024));
  ASSERT_EQ(map.slices(0).size(), 3u);
  for (const Slice& slice : map.slices(0)) EXPECT_EQ(slice.size(), 1);
}

TEST(ShardMapTest, SliceEndsAreTheEndsOfTheSlices) {
  const ShardMap map = Make(Options({10, 4000}, 2, 1024));
  EXPECT_EQ(map.SliceEnds(0), (std::vector<int64_t>{5, 10}));
  EXPECT_EQ(map.SliceEnds(1), (std::vector<int64_t>{1000, 2000, 3000, 4000}));
}

TEST(ShardMapTest, EqualOptionsMakeEqualMaps) {
  const ShardMapOptions options = Options({99991, 5, 61706}, 5, 1024);
  EXPECT_TRUE(SameSlices(Make(options), Make(options)));
  EXPECT_FALSE(SameSlices(Make(options), Make(Options({99991}, 5, 1024))));
}

TEST(ShardMapTest, TheLargestBucketIsCutWithoutOverflow) {
  const int64_t largest = (int64_t{1} << 32) - 1;
  for (const int64_t longest :
       {int64_t{1} << 24, std::numeric_limits<int64_t>::max()}) {
    const ShardMap map = Make(Options({largest}, 256, longest));
    EXPECT_EQ(map.slices(0).back().end, largest);
  }
}

TEST(ShardMapTest, NumbersOutOfRangeAreRefusedByName) {
  const struct {
    ShardMapOptions options;
    std::string message;
  } cases[] = {
      {Options({}, 1, 1024), "no buckets"},
      {Options({10}, 0, 1024), "num_servers is 0"},
      {Options({10}, -1, 1024), "num_servers is -1"},
      {Options({10}, std::numeric_limits<int>::max(), 1024), "num_servers"},
      {Options({10}, 1, 0), "max_slice_elements is 0"},
      {Options({10, 0}, 1, 1024), "bucket 1 has 0 elements"},
      {Options({-5}, 1, 1024), "bucket 0 has -5 elements"},
      {Options({int64_t{1} << 32}, 1, 1024), "bucket 0 has 4294967296"},
      {Options({int64_t{1} << 31}, 1, 1024), "raise cluster.max_slice_elem"},
  };
  for (const auto& c : cases) {
    const absl::Status status = ShardMap::Create(c.options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace ps
