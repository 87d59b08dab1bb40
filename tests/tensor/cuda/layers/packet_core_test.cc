// Kernels that pass over arrays in packets: the same bits as element by
// element, for every length and alignment; and sums over channels of every
// geometry.

#include "tensor/cuda/layer_device/packet_core.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/cuda/layer_device/all_kernels.h"
#include "tensor/cuda/nn/bias.h"
#include "tensor/cuda/nn/channel_sums.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/cuda/layers/emulate_kernel.h"
#include "tests/tensor/cuda/layers/emulated_layer_device.h"

namespace ps {
namespace {

static_assert(kPacket<SumCore<float>> == 4);
static_assert(kPacket<SumCore<Bfloat16>> == 8);

constexpr int64_t kLengths[] = {1,  3,  4,   5,    7,    8,    9,
                                31, 33, 255, 2047, 2048, 2049, 20011};

// Three arrays of n elements that begin `offset` elements after an address
// that is aligned to 16 bytes.
template <typename T>
struct TestArrays {
  TestArrays(int64_t n, int64_t offset) : n(n), offset(offset) {
    for (int i = 0; i < 3; ++i) {
      const std::vector<float> values = RandomValues(n, 10 + i);
      // Vectors of this size are aligned to 16 bytes.
      memory[i].assign(n + offset + 8, T(0.0f));
      for (int64_t j = 0; j < n; ++j) memory[i][offset + j] = T(values[j]);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory[i].data()) % 16, 0u);
    }
  }
  T* at(int i) { return memory[i].data() + offset; }

  // Bytes of the last array, including those around its elements.
  std::vector<unsigned char> Bytes() const {
    std::vector<unsigned char> bytes(memory[2].size() * sizeof(T));
    std::memcpy(bytes.data(), memory[2].data(), bytes.size());
    return bytes;
  }

  int64_t n;
  int64_t offset;
  std::vector<T> memory[3];
};

// Runs the core that prepare(arrays) returns, which writes the third array, and
// expects what one element at a time gives.
template <typename T, typename Prepare>
void ExpectSameBits(int64_t n, const Prepare& prepare, bool packets = true) {
  for (const int64_t offset : {0, 1, 3}) {
    SCOPED_TRACE(testing::Message() << n << " elements from " << offset);
    TestArrays<T> expected(n, offset);
    RunPackets<1>(prepare(&expected), n, 0, 1);
    for (const EmulatedOrder order :
         {EmulatedOrder::kForward, EmulatedOrder::kBackward}) {
      TestArrays<T> actual(n, offset);
      const auto core = prepare(&actual);
      EXPECT_EQ(TakesPackets(core), packets && offset == 0);
      EmulatedKernel(AllKernels::IndexOf<decltype(prepare(&actual))>(), &core,
                     n)(order);
      EXPECT_EQ(actual.Bytes(), expected.Bytes());
    }
  }
}

template <typename T>
class PacketCores : public testing::Test {};
using ElementTypes = testing::Types<float, Bfloat16>;
TYPED_TEST_SUITE(PacketCores, ElementTypes);

TYPED_TEST(PacketCores, PacketsGiveTheBitsOfSingleElements) {
  using T = TypeParam;
  for (const int64_t n : kLengths) {
    ExpectSameBits<T>(n, [](TestArrays<T>* a) {
      SumCore<T> core;
      core.a = a->at(0), core.b = a->at(1), core.y = a->at(2);
      return core;
    });
    // In place, and with the position of each element.
    ExpectSameBits<T>(n, [](TestArrays<T>* a) {
      DropoutCore<T> core;
      core.key = 5;
      core.drop_below = 1 << (kDropoutDrawBits - 1);
      core.scale = 2;
      core.x = a->at(2), core.y = a->at(2);
      return core;
    });
  }
}

// Each type's packets are as long as the output's.
TEST(Conversions, PacketsGiveTheBitsOfSingleElements) {
  for (const int64_t n : kLengths) {
    for (const int64_t offset : {0, 1, 8}) {
      TestArrays<float> floats(n, offset);
      TestArrays<Bfloat16> halves(n, offset), expected(n, offset);
      ConvertCore<float, Bfloat16> narrow;
      narrow.from = floats.at(0), narrow.to = expected.at(2);
      RunPackets<1>(narrow, n, 0, 1);
      narrow.to = halves.at(2);
      EXPECT_EQ(TakesPackets(narrow), offset != 1);
      EmulatedKernel(AllKernels::IndexOf<ConvertCore<float, Bfloat16>>(),
                     &narrow, n)(EmulatedOrder::kForward);
      EXPECT_EQ(halves.Bytes(), expected.Bytes());
      ConvertCore<Bfloat16, float> widen;
      widen.from = halves.at(2), widen.to = floats.at(2);
      EXPECT_EQ(TakesPackets(widen), offset != 1);
      EmulatedKernel(AllKernels::IndexOf<ConvertCore<Bfloat16, float>>(),
                     &widen, n)(EmulatedOrder::kForward);
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(floats.at(2)[i], float{halves.at(2)[i]});
      }
    }
  }
}

TYPED_TEST(PacketCores, ChannelsGiveTheBitsOfSingleElements) {
  using T = TypeParam;
  constexpr int kLength = kPacket<SumCore<T>>;
  const std::vector<float> bias = RandomValues(300, 1);
  for (const int64_t channels : {1, 5, 8, 24, 64, 256, 300}) {
    for (const int64_t pixels : {1, 6, 8, 49}) {
      // Enough for several packets of each thread of the emulated grid.
      for (const int64_t images :
           {int64_t{1}, int64_t{3}, 30000 / (channels * pixels) + 1}) {
        ChannelMap map{Divisor(channels), Divisor(pixels)};
        ExpectSameBits<T>(
            images * channels * pixels,
            [&](TestArrays<T>* a) {
              AddBiasCore<T> core;
              core.map = map;
              core.function = ActivationKind::kTanh;
              // At an address that no packet could be loaded from.
              core.bias = bias.data() + (channels < 300 ? 1 : 0);
              core.y = a->at(2);
              return core;
            },
            map.row() % kLength == 0);
      }
    }
  }
}

// Otherwise it would load the channels' values again for each packet.
TEST(PacketGrid, PacketsOfAThreadBelongToTheSameChannels) {
  AddBiasCore<Bfloat16> core;
  for (const int64_t channels : {8, 24, 64, 1000, 2048, 32000}) {
    core.map.channels = Divisor(channels);
    for (const int64_t max_blocks : {4096, 4097}) {
      const int64_t blocks =
          PacketBlocks<8>(core, channels * 10000000, max_blocks);
      EXPECT_GT(blocks, max_blocks / 2) << channels;
      EXPECT_LE(blocks, max_blocks) << channels;
      EXPECT_EQ(blocks * 8 * kBlockThreads % channels, 0) << channels;
    }
    EXPECT_EQ(PacketBlocks<8>(core, channels, 4096), channels / 2049 + 1);
  }
}

// The geometries of ResNet-50's sums, with batch 256: enough blocks for a
// device, and few enough chunks for 32 threads to add up.
TEST(ChannelSums, WorkIsSpreadOverBlocksAndThreads) {
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

// Whole numbers, whose sums are exact in every order.
TYPED_TEST(PacketCores, ChannelSumsAreExactForEveryGeometry) {
  using T = TypeParam;
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  struct Case {
    int64_t batch, channels, pixels;
  };
  for (const Case& c : {Case{1, 1, 1}, Case{3, 5, 1}, Case{1000, 8, 1},
                        Case{777, 67, 1}, Case{300, 136, 1}, Case{5, 3, 49},
                        Case{5, 3, 52}, Case{50, 2, 400}, Case{1, 3, 70001},
                        // Several chunks for each of the 32 threads.
                        Case{140000, 3, 1}, Case{40001, 4, 1}}) {
    if (!kIsFloat && c.pixels > 1) continue;
    SCOPED_TRACE(testing::Message()
                 << c.batch << " x " << c.channels << " x " << c.pixels);
    const ChannelGeometry geometry(c.batch, c.channels, c.pixels);
    std::vector<float> expected(c.channels);
    for (const int64_t offset : {0, 1}) {
      for (const EmulatedOrder order :
           {EmulatedOrder::kForward, EmulatedOrder::kBackward}) {
        EmulatedLayerDeviceOptions options;
        options.order = order;
        EmulatedLayerDevice device(options);
        const auto dy =
            DeviceArray<T>::Create(&device, geometry.size() + offset).value();
        const auto dbias =
            DeviceArray<float>::Create(&device, c.channels).value();
        ASSERT_TRUE(
            device.ReserveScratch(ChannelSumsScratchBytes(geometry)).ok());
        std::fill(expected.begin(), expected.end(), 0.0f);
        for (int64_t i = 0; i < geometry.size(); ++i) {
          const float value = static_cast<float>(i * 7 % 31 - 13);
          dy.data()[i + offset] = T(value);
          expected[i / c.pixels % c.channels] += value;
        }
        ASSERT_TRUE(SumBias(&device,
                            kIsFloat ? Storage::kFloat : Storage::kBfloat16,
                            geometry, dy.data() + offset, dbias.data())
                        .ok());
        EXPECT_EQ(std::vector<float>(dbias.data(), dbias.data() + c.channels),
                  expected);
      }
    }
  }
}

}  // namespace
}  // namespace ps
