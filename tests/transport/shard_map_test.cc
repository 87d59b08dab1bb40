#include "transport/shard_map.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
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

// Elements of each server's share.
std::vector<int64_t> Loads(const ShardMap& map) {
  std::vector<int64_t> loads(map.num_servers());
  for (int b = 0; b < map.num_buckets(); ++b) {
    for (const Slice& slice : map.slices(b)) {
      loads[slice.server] += slice.size();
    }
  }
  return loads;
}

// Whichever servers have them.
bool SameSlices(const ShardMap& a, const ShardMap& b) {
  if (a.num_buckets() != b.num_buckets()) return false;
  const auto same = [](const Slice& x, const Slice& y) {
    return x.bucket == y.bucket && x.index == y.index && x.number == y.number &&
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
      const ShardMap map = Make(Options({size, 17, 1 << 24}, servers, 1 << 16));
      ASSERT_EQ(map.num_buckets(), 3);
      int64_t covered = 0;
      for (size_t i = 0; i < map.slices(0).size(); ++i) {
        const Slice& slice = map.slices(0)[i];
        EXPECT_EQ(slice.bucket, 0);
        EXPECT_EQ(slice.index, static_cast<int>(i));
        EXPECT_EQ(slice.number, static_cast<int>(i));
        EXPECT_EQ(slice.begin, covered);
        EXPECT_GT(slice.end, slice.begin);
        EXPECT_GE(slice.server, 0);
        EXPECT_LT(slice.server, servers);
        covered = slice.end;
      }
      EXPECT_EQ(covered, size) << servers << " servers";
      const Slice& next = map.slices(1).front();
      EXPECT_EQ(next.bucket, 1);
      EXPECT_EQ(next.number, static_cast<int>(map.slices(0).size()));
    }
  }
}

TEST(ShardMapTest, TheNumberOfServersDoesNotChangeTheCuts) {
  const ShardMapOptions options = Options({999991, 5, 61706}, 1, 1024);
  for (const int servers : {1, 2, 3, 7, 256}) {
    ShardMapOptions other = options;
    other.num_servers = servers;
    EXPECT_TRUE(SameSlices(Make(options), Make(other)));
  }
  EXPECT_FALSE(SameSlices(Make(options), Make(Options({999991}, 1, 1024))));
  // A server without slices could neither save nor answer anything.
  ShardMapOptions too_many = Options({1 << 20, 5}, 6, 1 << 20);
  const absl::Status refused = ShardMap::Create(too_many).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("cluster.num_servers is 6, but this model makes only "
                        "5 slices of weights"));
  too_many.num_averaged_buckets = 1;
  too_many.num_servers = 5;
  EXPECT_TRUE(absl::IsInvalidArgument(ShardMap::Create(too_many).status()));
  too_many.num_averaged_buckets = 0;
  EXPECT_TRUE(ShardMap::Create(too_many).ok());
}

TEST(ShardMapTest, SharesDifferByAtMostTheLargestSlice) {
  for (const int64_t size : kSizes) {
    for (const int servers : {1, 2, 3, 7, 255, 256}) {
      const ShardMap map =
          Make(Options({size, 1 << 24, 3, size}, servers, 1 << 16));
      int64_t largest = 0;
      for (int b = 0; b < map.num_buckets(); ++b) {
        for (const Slice& slice : map.slices(b)) {
          largest = std::max(largest, slice.size());
        }
      }
      const std::vector<int64_t> loads = Loads(map);
      const auto ends = std::minmax_element(loads.begin(), loads.end());
      EXPECT_LE(*ends.second - *ends.first, largest)
          << size << " elements on " << servers << " servers";
    }
  }
}

// Messages of one server are spread over its connections by place.
TEST(ShardMapTest, PlacesCountTheSlicesOfEachServer) {
  const ShardMap map = Make(Options({99991, 5, 1 << 20}, 3, 1 << 16));
  std::vector<int> next(3);
  for (int b = 0; b < map.num_buckets(); ++b) {
    for (const Slice& slice : map.slices(b)) {
      EXPECT_EQ(slice.place, next[slice.server]++);
    }
  }
}

TEST(ShardMapTest, LargeBucketsAreCutIntoMessagesAndSmallOnesIntoFour) {
  const struct {
    int64_t size;
    size_t slices;
  } cases[] = {{1, 1},
               {1 << 11, 1},
               {(1 << 11) + 1, 2},
               {3 << 11, 3},
               {4 << 11, 4},
               {1 << 20, 4},
               {(1 << 20) + 1, 4},
               {4 << 20, 4},
               {(4 << 20) + 1, 5}};
  for (const auto& c : cases) {
    const ShardMap map = Make(Options({c.size}, 1, 1 << 20));
    EXPECT_EQ(map.slices(0).size(), c.slices) << c.size;
    for (const Slice& slice : map.slices(0)) {
      EXPECT_LE(slice.size(), 1 << 20);
    }
  }
}

TEST(ShardMapTest, SliceEndsAreTheEndsOfTheSlices) {
  const ShardMap map = Make(Options({10, 4000}, 2, 1024));
  EXPECT_EQ(map.SliceEnds(0), (std::vector<int64_t>{10}));
  EXPECT_EQ(map.SliceEnds(1), (std::vector<int64_t>{1000, 2000, 3000, 4000}));
}

TEST(ShardMapTest, TheLargestBucketIsCutWithoutOverflow) {
  const int64_t largest = (int64_t{1} << 32) - 1;
  for (const int64_t longest :
       {int64_t{1} << 24, std::numeric_limits<int64_t>::max()}) {
    const ShardMap map = Make(Options({largest}, 3, longest));
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
