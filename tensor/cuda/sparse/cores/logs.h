// Sums of ln |u|, as far as they are exact: products in lanes, with the
// exponents apart. The few logarithms that are left are taken by the host, so
// that the sums have the bits of the CPU's (tensor/cpu/cpu_sum_loops.cc).
#ifndef TENSOR_CUDA_SPARSE_CORES_LOGS_H_
#define TENSOR_CUDA_SPARSE_CORES_LOGS_H_

#include <cmath>
#include <cstdint>

#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/host_device.h"
#include "tensor/cuda/sparse/cores/tile.h"

namespace ps {

// Of one chunk: the product of the non-zero magnitudes of lane i is
// products[i] x 2^exponents[i]; but for the last elements, fewer than
// kSparseLanes, which fill no group of lanes.
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

// The whole of one block's work on one chunk. Nothing is formed, and no lists.
template <class Block>
PS_HOST_DEVICE void MultiplyChunk(Block& block, const SparseInput& input,
                                  int64_t chunk, TileShared* shared,
                                  ChunkProducts* result) {
  typename Block::template PerThread<double> products;
  typename Block::template PerThread<int64_t> exponents;
  const ChunkInput part = ChunkOf(input, chunk);
  const int64_t whole = part.size / kSparseLanes * kSparseLanes;
  block.Phase([&](int thread) {
    products[thread] = 1;
    exponents[thread] = 0;
  });
  for (int64_t begin = 0; begin < part.size; begin += kSparseTile) {
    const Tile tile = TileAt(part, begin);
    block.Phase([&](int thread) {
      LoadTile(input, part, tile, thread, shared, [](float) {});
    });
    block.Phase([&](int thread) {
      if (thread >= kSparseLanes) return;
      double product = products[thread];
      int64_t exponent = exponents[thread];
      int factors = 0;
      for (int i = thread; i < tile.size && begin + i < whole;
           i += kSparseLanes) {
        const float a = FloatFromBits(
            FloatBits(shared->values[PaddedIndex(i)]) & kMagnitudeMask);
        product =
            MultiplyRounded(product, static_cast<double>(a == 0 ? 1.0f : a));
        if (++factors < kFactorsAtATime) continue;
        NormalizeProduct(&product, &exponent);
        factors = 0;
      }
      NormalizeProduct(&product, &exponent);
      products[thread] = product;
      exponents[thread] = exponent;
    });
  }
  block.Phase([&](int thread) {
    if (thread >= kSparseLanes) return;
    ChunkProducts& out = result[chunk];
    out.products[thread] = products[thread];
    out.exponents[thread] = exponents[thread];
    const int64_t i = whole + thread;
    out.tail[thread] = i < part.size ? input.u[part.begin + i] : 0;
  });
}

// The sum of the logarithms. For the host: other logarithms round otherwise.
inline double SumOfLogs(const ChunkProducts& chunk) {
  constexpr double kLn2 = 0.6931471805599453;
  int64_t exponent = 0;
  double sum = 0;
  for (int i = 0; i < kSparseLanes; ++i) {
    exponent += chunk.exponents[i];
    sum += std::log(chunk.products[i]);
    if (chunk.tail[i] != 0) {
      sum += std::log(std::fabs(static_cast<double>(chunk.tail[i])));
    }
  }
  return sum + static_cast<double>(exponent) * kLn2;
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CORES_LOGS_H_
