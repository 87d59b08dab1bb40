// Kernels that pass over arrays in packets: the same bits for every alignment,
// at every length; and sums over channels of every geometry.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/cuda/layer_device/channel_geometry.h"
#include "tensor/cuda/nn/bias.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tests/ptx/device.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/cuda/layers/layer_device_for_test.h"

namespace ps {
namespace {

constexpr int64_t kLengths[] = {1,  3,  4,   5,    7,    8,    9,
                                31, 33, 255, 2047, 2048, 2049, 20011};

// n random elements that begin `offset` elements after an address that is
// aligned to 16 bytes, among others that must not change.
class Placed {
 public:
  Placed(LayerDevice* device, Storage storage, int64_t n, int64_t offset,
         uint64_t seed)
      : n_(n),
        offset_(offset),
        storage_(storage),
        elements_(device, storage, Padded(n, offset, seed)) {}

  float* data() const {
    return reinterpret_cast<float*>(static_cast<char*>(elements_.data()) +
                                    offset_ * StorageBytes(storage_));
  }
  std::vector<float> Values() const {
    std::vector<float> all = elements_.Values();
    const auto begin = all.begin() + offset_;
    for (auto i = all.begin(); i < all.end(); ++i) {
      if (i < begin || i >= begin + n_) {
        EXPECT_EQ(*i, kAround) << i - begin;
      }
    }
    return std::vector<float>(begin, begin + n_);
  }

 private:
  static constexpr float kAround = 77;

  static std::vector<float> Padded(int64_t n, int64_t offset, uint64_t seed) {
    std::vector<float> all(offset + n + 8, kAround);
    const std::vector<float> values = RandomValues(n, seed);
    std::copy(values.begin(), values.end(), all.begin() + offset);
    return all;
  }

  const int64_t n_;
  const int64_t offset_;
  const Storage storage_;
  const DeviceValues elements_;
};

class EmulatedPackets : public testing::TestWithParam<Storage> {
 protected:
  ~EmulatedPackets() override { ptx::SetOrder(ptx::Order::kForward); }

  Storage storage() const { return GetParam(); }
  LayerDevice* device() const { return device_.get(); }
  Placed Array(int64_t n, int64_t offset, uint64_t seed) const {
    return Placed(device(), storage(), n, offset, seed);
  }
  float Rounded(float value) const {
    return storage() == Storage::kFloat ? value : float{Bfloat16(value)};
  }

  const std::shared_ptr<LayerDevice> device_ =
      NewLayerDeviceForTest(Precision::kBf16);
  CudaNnKernels nn_{device_};
};

TEST_P(EmulatedPackets, SumsAreThoseOfSingleElements) {
  for (const int64_t n : kLengths) {
    const auto sum = nn_.PlanSum(CudaActivation(storage(), {n})).value();
    for (const int64_t offset : {0, 1, 3}) {
      const Placed a = Array(n, offset, 1), b = Array(n, offset, 2),
                   y = Array(n, offset, 3);
      ASSERT_TRUE(sum->Run(a.data(), b.data(), y.data()).ok());
      const std::vector<float> x = a.Values(), z = b.Values(),
                               actual = y.Values();
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(actual[i], Rounded(x[i] + z[i])) << n << ", " << i;
      }
    }
  }
}

// In place, and with the position of each element.
TEST_P(EmulatedPackets, DropoutIsThatOfSingleElements) {
  for (const int64_t n : kLengths) {
    const auto dropout =
        nn_.PlanDropout(0.5, CudaActivation(storage(), {n})).value();
    std::vector<float> expected;
    // At an odd address, elements are taken one by one.
    for (const int64_t offset : {1, 0, 3}) {
      const Placed x = Array(n, offset, 1);
      ASSERT_TRUE(dropout->Forward(5, x.data(), x.data()).ok());
      if (offset == 1) expected = x.Values();
      EXPECT_EQ(x.Values(), expected) << n << " from " << offset;
    }
  }
}

// A packet is as long as the output's, whatever the input's type is.
TEST_P(EmulatedPackets, ConversionsAreThoseOfSingleElements) {
  if (storage() == Storage::kFloat) return;
  for (const int64_t n : kLengths) {
    const auto reorder =
        nn_.PlanReorder(CudaActivation(Storage::kBfloat16, {n})).value();
    for (const int64_t offset : {0, 1, 8}) {
      const Placed floats(device(), Storage::kFloat, n, offset, 1);
      const Placed halves = Array(n, offset, 2);
      const std::vector<float> values = floats.Values();
      ASSERT_TRUE(
          reorder->Backward(nullptr, nullptr, floats.data(), halves.data())
              .ok());
      std::vector<float> expected;
      for (const float value : values) expected.push_back(Bfloat16(value));
      EXPECT_EQ(halves.Values(), expected) << n << " from " << offset;
      ASSERT_TRUE(reorder->Forward(halves.data(), floats.data()).ok());
      EXPECT_EQ(floats.Values(), expected) << n << " from " << offset;
    }
  }
}

TEST_P(EmulatedPackets, ChannelsAreThoseOfSingleElements) {
  struct Case {
    int64_t images, channels, pixels;
  };
  std::vector<Case> cases;
  for (const int64_t channels : {1, 5, 8, 24, 300}) {
    for (const int64_t pixels : {1, 6, 8, 49}) {
      cases.push_back({3, channels, pixels});
    }
  }
  // So many that threads take several packets, at odd addresses and others.
  cases.push_back({1100, 1000, 1});
  cases.push_back({storage() == Storage::kFloat ? 4300 : 8600, 1000, 1});
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message()
                 << c.images << " x " << c.channels << " x " << c.pixels);
    const ChannelGeometry geometry(c.images, c.channels, c.pixels);
    const int64_t n = geometry.size();
    // At an address that no packet could be loaded from.
    const Placed bias(device(), Storage::kFloat, c.channels, 1, 9);
    const std::vector<float> biases = bias.Values();
    for (const int64_t offset : {0, 1, 3}) {
      if (offset > 0 && n > 2000000) continue;
      const Placed y = Array(n, offset, 1);
      const std::vector<float> before = y.Values();
      const absl::Status status =
          AddBias(device(), storage(), geometry, ActivationKind::kRelu,
                  bias.data(), y.data());
      ASSERT_TRUE(status.ok()) << status;
      const std::vector<float> actual = y.Values();
      for (int64_t i = 0; i < n; ++i) {
        const float sum = before[i] + biases[i / c.pixels % c.channels];
        ASSERT_EQ(actual[i], Rounded(std::max(sum, 0.0f))) << i;
      }
    }
  }
}

// Whole numbers, whose sums are exact in every order.
TEST_P(EmulatedPackets, ChannelSumsAreExactForEveryGeometry) {
  struct Case {
    int64_t batch, channels, pixels;
  };
  for (const Case& c : {Case{1, 1, 1}, Case{3, 5, 1}, Case{1000, 8, 1},
                        Case{777, 67, 1}, Case{300, 136, 1}, Case{5, 3, 49},
                        Case{5, 3, 52}, Case{50, 2, 400}, Case{1, 3, 70001},
                        // Several chunks for each of the 32 threads.
                        Case{140000, 3, 1}, Case{40001, 4, 1}}) {
    if (storage() == Storage::kBfloat16 && c.pixels > 1) continue;
    SCOPED_TRACE(testing::Message()
                 << c.batch << " x " << c.channels << " x " << c.pixels);
    const ChannelGeometry geometry(c.batch, c.channels, c.pixels);
    ASSERT_TRUE(
        device()->ReserveScratch(ChannelSumsScratchBytes(geometry)).ok());
    std::vector<float> values(geometry.size()), expected(c.channels);
    for (int64_t i = 0; i < geometry.size(); ++i) {
      values[i] = static_cast<float>(i * 7 % 31 - 13);
      expected[i / c.pixels % c.channels] += values[i];
    }
    for (const int64_t offset : {0, 1}) {
      for (const ptx::Order order :
           {ptx::Order::kForward, ptx::Order::kBackward}) {
        ptx::SetOrder(order);
        const DeviceValues dy(device(), storage(), values, offset);
        const DeviceValues dbias(device(), Storage::kFloat,
                                 std::vector<float>(c.channels));
        ASSERT_TRUE(
            SumBias(device(), storage(), geometry, dy.data(), dbias.floats())
                .ok());
        EXPECT_EQ(dbias.Values(), expected);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, EmulatedPackets,
                         testing::Values(Storage::kFloat, Storage::kBfloat16),
                         [](const testing::TestParamInfo<Storage>& info) {
                           return std::string(info.param == Storage::kFloat
                                                  ? "float"
                                                  : "bfloat16");
                         });

// Otherwise it would load the channels' values again for each packet.
TEST(ChannelBlocks, PacketsOfAThreadBelongToTheSameChannels) {
  for (const int64_t channels : {8, 24, 64, 1000, 2048, 32000}) {
    const ChannelMap map{Divisor(channels), Divisor(1)};
    for (const int64_t max_blocks : {4096, 4097}) {
      const int64_t blocks =
          ChannelBlocks(map, channels * 10000000, 8, max_blocks);
      EXPECT_GT(blocks, max_blocks / 2) << channels;
      EXPECT_LE(blocks, max_blocks) << channels;
      EXPECT_EQ(blocks * 8 * kBlockThreads % channels, 0) << channels;
    }
    EXPECT_EQ(ChannelBlocks(map, channels, 8, 4096), channels / 2049 + 1);
  }
}

// The geometries of ResNet-50's sums, with batch 256: enough blocks for a
// device, and few enough chunks for 32 threads to add up.
TEST(ChannelGeometry, SpreadsWorkOverBlocksAndThreads) {
  for (const ChannelGeometry& g : {ChannelGeometry(256 * 112 * 112, 64, 1),
                                   ChannelGeometry(256 * 56 * 56, 64, 1),
                                   ChannelGeometry(256 * 56 * 56, 256, 1),
                                   ChannelGeometry(256 * 14 * 14, 1024, 1),
                                   ChannelGeometry(256 * 7 * 7, 2048, 1),
                                   ChannelGeometry(256, 64, 112 * 112),
                                   ChannelGeometry(256, 2048, 7 * 7)}) {
    const int64_t blocks = g.chunks * g.tiles.value();
    EXPECT_GE(blocks, 900) << g.elements << " x " << g.channels();
    EXPECT_LE(blocks, 2048) << g.elements << " x " << g.channels();
    EXPECT_LE(g.chunks, 1024) << g.elements << " x " << g.channels();
  }
}

}  // namespace
}  // namespace ps
