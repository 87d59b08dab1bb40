// What threads do together, in every order: warps, atomics, barriers, memory.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ptx/device.h"
#include "tests/ptx/device_array.h"
#include "tests/ptx/kernels.h"

namespace ptx {
namespace {

class ThreadsTest : public testing::TestWithParam<Order> {
 protected:
  void SetUp() override { SetOrder(GetParam(), /*seed=*/3); }
  void TearDown() override { SetOrder(Order::kForward); }
};
INSTANTIATE_TEST_SUITE_P(Orders, ThreadsTest,
                         testing::Values(Order::kForward, Order::kBackward,
                                         Order::kShuffled));

TEST_P(ThreadsTest, WarpsExchangeValues) {
  std::vector<uint32_t> in(64);
  for (uint32_t i = 0; i < 64; ++i) in[i] = i * 37 % 101;
  DeviceArray<uint32_t> device_in(in);
  DeviceArray<uint32_t> out(17 * 64);
  RunWarps(device_in.data(), out.data(), TestStream());
  const std::vector<uint32_t> got = out.Get();
  for (int thread = 0; thread < 64; ++thread) {
    const int lane = thread % 32;
    const uint32_t* const warp = in.data() + thread - lane;
    uint32_t odd = 0, any = 0, match = 0, sum = 0, exclusive = 0;
    uint32_t greatest = 0, low = 0, high = ~0u;
    uint32_t least = ~0u;
    bool same = true;
    for (int i = 0; i < 32; ++i) {
      odd |= (warp[i] & 1) << i;
      any |= warp[i] == 4;
      match |= uint32_t{warp[i] % 4 == warp[lane] % 4} << i;
      same = same && warp[i] / 1000 == warp[0] / 1000;
      sum += warp[i], exclusive ^= warp[i];
      greatest = std::max(greatest, warp[i]);
      least = std::min(least, warp[i]);
      if (i < 16) low |= warp[i];
      if (i >= 16) high &= warp[i];
    }
    const uint32_t expected[] = {warp[(thread + 5) % 32],
                                 warp[lane < 3 ? lane : lane - 3],
                                 warp[lane % 16 + 7 < 16 ? lane + 7 : lane],
                                 warp[lane ^ 9],
                                 odd,
                                 any,
                                 1,
                                 match,
                                 same ? ~0u : 0u,
                                 same,
                                 sum,
                                 least - 50,
                                 greatest,
                                 exclusive,
                                 (1u << lane) - 1,
                                 lane < 16 ? low : high,
                                 1};
    for (int i = 0; i < 17; ++i) {
      EXPECT_EQ(got[i * 64 + thread], expected[i])
          << "number " << i << " of thread " << thread;
    }
  }
}

TEST_P(ThreadsTest, AtomicsLoseNothing) {
  std::vector<uint64_t> start(12);
  start[5] = ~uint64_t{0};
  DeviceArray<uint64_t> out(start);
  RunAtomics(out.data(), TestStream());
  const std::vector<uint64_t> got = out.Get();
  uint32_t exclusive = 0;
  for (uint32_t i = 0; i < 300; ++i) exclusive ^= i;
  float half = 0;
  std::memcpy(&half, &got[6], sizeof(half));
  double quarter = 0;
  std::memcpy(&quarter, &got[7], sizeof(quarter));
  EXPECT_EQ(got[0], 300);
  EXPECT_EQ(got[1], 299);
  EXPECT_EQ(static_cast<int32_t>(got[2]), -299);
  EXPECT_EQ(got[3], 0xffffffff);
  EXPECT_EQ(got[4], exclusive);
  EXPECT_EQ(got[5], ~uint64_t{7});
  EXPECT_EQ(half, 150);
  EXPECT_EQ(quarter, 75);
  EXPECT_EQ(got[8], 299 * 300 / 2);
  EXPECT_EQ(got[9], uint64_t{99 * 100 / 2} << 20);
  EXPECT_EQ(got[10], 3 * (100 % 7));
  EXPECT_EQ(got[11], 300);
}

TEST_P(ThreadsTest, ReadVectorsTablesAndTheirOwnMemory) {
  std::vector<float> in(280);
  std::iota(in.begin(), in.end(), 0.0f);
  DeviceArray<float> device_in(in);
  DeviceArray<float> out(70);
  RunMemory(device_in.data(), out.data(), TestStream());
  const std::vector<float> got = out.Get();
  const float table[] = {1, 2, 4, 8};
  for (int i = 0; i < 70; ++i) {
    const int thread = 69 - i;
    float expected = 0;
    for (int k = 0; k < 4; ++k) {
      expected += in[4 * thread + (k + thread) % 4] * table[k];
    }
    EXPECT_EQ(got[i], expected) << i;
  }
}

TEST_P(ThreadsTest, BarriersCountAndSomeThreadsOnlyArrive) {
  DeviceArray<uint32_t> out(96 * 4);
  RunBarriers(out.data(), TestStream());
  const std::vector<uint32_t> got = out.Get();
  for (uint32_t i = 0; i < 96; ++i) {
    EXPECT_EQ(got[4 * i], 32);
    EXPECT_NE(got[4 * i + 1], 0);
    EXPECT_EQ(got[4 * i + 2], 0);
    EXPECT_EQ(got[4 * i + 3], i < 64 ? 0 : i - 63 + i - 31);
  }
}

TEST_P(ThreadsTest, BlocksOfAGridMeet) {
  constexpr int kRounds = 5;
  std::vector<uint32_t> values(192);
  std::iota(values.begin(), values.end(), 0);
  DeviceArray<uint32_t> device(values);
  DeviceArray<uint32_t> barrier(2);
  ASSERT_EQ(RunGridBarrier(/*has_fences=*/true, kRounds, device.data(),
                           barrier.data(), TestStream()),
            cudaSuccess);
  const std::vector<uint32_t> got = device.Get();
  for (uint32_t i = 0; i < 192; ++i) {
    EXPECT_EQ(got[i], (i + 65 * kRounds) % 192 + kRounds) << i;
  }
}

}  // namespace
}  // namespace ptx
