// CUB's algorithms, which wait for other blocks in several ways, in every
// order.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ptx/device.h"
#include "tests/ptx/device_array.h"
#include "tests/ptx/kernels.h"

namespace ptx {
namespace {

class CubTest : public testing::TestWithParam<Order> {
 protected:
  void SetUp() override { SetOrder(GetParam(), /*seed=*/11); }
  void TearDown() override { SetOrder(Order::kForward); }

  std::vector<int> Numbers(int n, int below) {
    std::vector<int> values(n);
    for (int& value : values) value = static_cast<int>(random_() % below);
    return values;
  }

  std::mt19937 random_{1};
};
INSTANTIATE_TEST_SUITE_P(Orders, CubTest,
                         testing::Values(Order::kForward, Order::kBackward,
                                         Order::kShuffled));

constexpr int kSizes[] = {1, 1000, 20001};

// Calls an algorithm for its scratch's size, and then with it.
template <typename Algorithm>
void RunTwice(Algorithm algorithm) {
  size_t bytes = 0;
  ASSERT_EQ(algorithm(nullptr, &bytes), cudaSuccess);
  DeviceArray<char> scratch(std::max<size_t>(bytes, 1));
  ASSERT_EQ(algorithm(scratch.data(), &bytes), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(TestStream()), cudaSuccess);
}

TEST_P(CubTest, Sum) {
  for (const int n : kSizes) {
    const std::vector<int> in = Numbers(n, 1000);
    DeviceArray<int> device(in), out(1);
    RunTwice([&](void* scratch, size_t* bytes) {
      return Sum(scratch, bytes, device.data(), out.data(), n, TestStream());
    });
    EXPECT_EQ(out.Get()[0], std::accumulate(in.begin(), in.end(), 0));
  }
}

TEST_P(CubTest, InclusiveSums) {
  for (const int n : kSizes) {
    const std::vector<int> in = Numbers(n, 1000);
    std::vector<int> expected(n);
    std::partial_sum(in.begin(), in.end(), expected.begin());
    DeviceArray<int> device(in), out(n);
    RunTwice([&](void* scratch, size_t* bytes) {
      return InclusiveSums(scratch, bytes, device.data(), out.data(), n,
                           TestStream());
    });
    EXPECT_EQ(out.Get(), expected);
  }
}

TEST_P(CubTest, SelectFlagged) {
  for (const int n : kSizes) {
    const std::vector<int> in = Numbers(n, 1000);
    std::vector<char> flags(n);
    for (char& flag : flags) flag = random_() % 3 == 0;
    std::vector<int> expected;
    for (int i = 0; i < n; ++i) {
      if (flags[i]) expected.push_back(in[i]);
    }
    DeviceArray<int> device(in), out(n), count(1);
    DeviceArray<char> device_flags(flags);
    RunTwice([&](void* scratch, size_t* bytes) {
      return SelectFlagged(scratch, bytes, device.data(), device_flags.data(),
                           out.data(), count.data(), n, TestStream());
    });
    ASSERT_EQ(count.Get()[0], static_cast<int>(expected.size()));
    std::vector<int> got = out.Get();
    got.resize(expected.size());
    EXPECT_EQ(got, expected);
  }
}

TEST_P(CubTest, SortKeys) {
  for (const int n : kSizes) {
    std::vector<uint64_t> keys(n);
    for (uint64_t& key : keys) key = uint64_t{random_()} << 32 | random_();
    DeviceArray<uint64_t> device(keys), out(n);
    RunTwice([&](void* scratch, size_t* bytes) {
      return SortKeys(scratch, bytes, device.data(), out.data(), n,
                      TestStream());
    });
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(out.Get(), keys);
  }
}

TEST_P(CubTest, SortPairs) {
  for (const int n : kSizes) {
    std::vector<uint32_t> keys(n);
    for (uint32_t& key : keys) key = random_() % 300;
    std::vector<int> values(n);
    std::iota(values.begin(), values.end(), 0);
    DeviceArray<uint32_t> device(keys), out(n);
    DeviceArray<int> device_values(values), sorted(n);
    RunTwice([&](void* scratch, size_t* bytes) {
      return SortPairs(scratch, bytes, device.data(), out.data(),
                       device_values.data(), sorted.data(), n, TestStream());
    });
    std::stable_sort(values.begin(), values.end(),
                     [&](int a, int b) { return keys[a] < keys[b]; });
    EXPECT_EQ(sorted.Get(), values);
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(out.Get(), keys);
  }
}

TEST_P(CubTest, Histogram) {
  constexpr int kBins = 64;
  for (const int n : kSizes) {
    std::vector<float> in(n);
    std::vector<int> expected(kBins);
    for (float& x : in) {
      const unsigned bin = random_() % kBins;
      x = (static_cast<float>(bin) + 0.5f) / kBins;
      ++expected[bin];
    }
    DeviceArray<float> device(in);
    DeviceArray<int> bins(kBins);
    RunTwice([&](void* scratch, size_t* bytes) {
      return Histogram(scratch, bytes, device.data(), bins.data(), kBins, n,
                       TestStream());
    });
    EXPECT_EQ(bins.Get(), expected);
  }
}

TEST_P(CubTest, AlgorithmsOfABlock) {
  const std::vector<int> in = Numbers(128, 1000);
  DeviceArray<int> device(in), out(133);
  BlockAlgorithms(device.data(), out.data(), TestStream());
  const std::vector<int> got = out.Get();
  EXPECT_EQ(got[0], std::accumulate(in.begin(), in.end(), 0));
  for (int i = 0; i < 128; ++i) {
    EXPECT_EQ(got[1 + i], std::accumulate(in.begin(), in.begin() + i, 0));
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(got[129 + i], std::accumulate(in.begin() + 32 * i,
                                            in.begin() + 32 * (i + 1), 0));
  }
}

}  // namespace
}  // namespace ptx
