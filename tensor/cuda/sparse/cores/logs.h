// Sums of ln |u|, as far as they can be computed exactly: products in lanes,
// with separate exponents. The host takes the few remaining logarithms, so that
// the sums have the same bits as the CPU's (tensor/cpu/cpu_sum_loops.cc).
#ifndef TENSOR_CUDA_SPARSE_CORES_LOGS_H_
#define TENSOR_CUDA_SPARSE_CORES_LOGS_H_

#include <cmath>
#include <cstdint>

#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/host_device.h"
#include "tensor/cuda/sparse/cores/tile.h"

namespace ps {

// Products of one chunk: the product of the non-zero magnitudes of lane i is
// products[i] x 2^exponents[i]. It excludes the last elements, fewer than
// kSparseLanes, which do not fill a group of lanes.
struct ChunkProducts {
  double products[kSparseLanes];
  int64_t exponents[kSparseLanes];
  float tail[kSparseLanes];  // Zeros after the last one.
};

// A normalised double (below 2) times this many floats, each in [2^-149,
// 2^128), neither overflows nor loses bits.
constexpr int kFactorsAtATime = 6;

// Moves the exponent out of a positive, normal product.
PS_HOST_DEVICE inline void NormalizeProduct(double* product,
                                            int64_t* exponent) {
  constexpr int kMantissaBits = 52;
  constexpr uint64_t kExponentOfOne = 0x3ff0000000000000;
  const uint64_t bits = DoubleBits(*product);
  *exponent += static_cast<int64_t>(bits >> kMantissaBits) -
               static_cast<int64_t>(kExponentOfOne >> kMantissaBits);
  *product = DoubleFromBits((bits & ((uint64_t{1} << kMantissaBits) - 1)) |
                            kExponentOfOne);
}

// One thread's product.
struct LaneProduct {
  double product = 1;
  int64_t exponent = 0;
};

// Multiplies a lane of a tile's values, of which the first `whole` fill groups
// of lanes, into `lane`.
PS_DEVICE_CALL inline LaneProduct MultiplyLane(int thread, int whole,
                                               const float* values,
                                               LaneProduct lane) {
  int factors = 0;
  for (int i = thread; i < whole; i += kSparseLanes) {
    const float a = FloatFromBits(FloatBits(values[i]) & kMagnitudeMask);
    lane.product =
        MultiplyRounded(lane.product, static_cast<double>(a == 0 ? 1.0f : a));
    if (++factors < kFactorsAtATime) continue;
    NormalizeProduct(&lane.product, &lane.exponent);
    factors = 0;
  }
  NormalizeProduct(&lane.product, &lane.exponent);
  return lane;
}

PS_HOST_DEVICE inline int64_t WholeLanes(int64_t size) {
  return size / kSparseLanes * kSparseLanes;
}

// The number of a tile's elements that fill groups of lanes. Only the chunk's
// last elements do not.
PS_HOST_DEVICE inline int WholeSize(const ChunkInput& part, const Tile& tile) {
  const int64_t whole = WholeLanes(part.size) - tile.begin;
  return static_cast<int>(whole < tile.size ? whole : tile.size);
}

// Stores a lane's product, and its element of the tail.
PS_HOST_DEVICE inline void StoreLane(const SparseInput& input,
                                     const ChunkInput& part, int lane,
                                     const LaneProduct& lane_product,
                                     ChunkProducts* out) {
  out->products[lane] = lane_product.product;
  out->exponents[lane] = lane_product.exponent;
  const int64_t i = WholeLanes(part.size) + lane;
  out->tail[lane] = i < part.size ? input.u[part.begin + i] : 0;
}

struct MultiplyShared {
  float values[kSparseTile];
};

// One block's work on one chunk. It neither forms a sum of two vectors nor
// keeps lists.
template <class Block>
PS_HOST_DEVICE void MultiplyChunk(Block& block, const SparseInput& input,
                                  int64_t chunk, MultiplyShared* shared,
                                  ChunkProducts* result) {
  typename Block::template PerThread<LaneProduct> products;
  const ChunkInput part = ChunkOf(input, chunk);
  block.Phase([&](int thread) { products[thread] = LaneProduct(); });
  for (int64_t begin = 0; begin < part.size; begin += kSparseTile) {
    const Tile tile = TileAt(part, begin);
    block.Phase([&](int thread) {
      float items[kItemsPerThread];
      LoadElements(input, part, tile, thread, items);
      ForEachItem(tile, thread, [&](int k) {
        shared->values[thread + k * kSparseThreads] = items[k];
      });
    });
    block.Phase([&](int thread) {
      if (thread >= kSparseLanes) return;
      products[thread] = MultiplyLane(thread, WholeSize(part, tile),
                                      shared->values, products[thread]);
    });
  }
  block.Phase([&](int thread) {
    if (thread >= kSparseLanes) return;
    StoreLane(input, part, thread, products[thread], &result[chunk]);
  });
}

// The sum of the logarithms. On the host it has the same bits as the CPU's; on
// the device it may differ in the last bit.
PS_DEVICE_CALL inline double SumOfLogs(const ChunkProducts& chunk) {
  constexpr double kLn2 = 0.6931471805599453;
  int64_t exponent = 0;
  double sum = 0;
  for (int i = 0; i < kSparseLanes; ++i) {
    exponent += chunk.exponents[i];
    sum = AddRounded(sum, std::log(chunk.products[i]));
    if (chunk.tail[i] != 0) {
      sum = AddRounded(sum,
                       std::log(std::fabs(static_cast<double>(chunk.tail[i]))));
    }
  }
  return AddRounded(sum, MultiplyRounded(static_cast<double>(exponent), kLn2));
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CORES_LOGS_H_
