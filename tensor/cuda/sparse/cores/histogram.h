// Histograms of magnitudes by their bits.
#ifndef TENSOR_CUDA_SPARSE_CORES_HISTOGRAM_H_
#define TENSOR_CUDA_SPARSE_CORES_HISTOGRAM_H_

#include <cstdint>

#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

constexpr int kHistogramBins = 4096;
// The maximum number of samples of one block; the count of any bin fits 32
// bits.
constexpr int64_t kSamplesPerBlock = 64 * 1024;

struct HistogramArguments {
  const float* u = nullptr;
  // Number of samples: elements 0, stride, 2 stride, ...
  int64_t num_samples = 0;
  int64_t stride = 1;
  // Bin b counts the samples with bits in [low + (b << shift), low + ((b + 1)
  // << shift)).
  uint32_t low = 0;
  int shift = 0;
  unsigned long long* counts = nullptr;  // [kHistogramBins], added to.
};

struct HistogramShared {
  uint32_t counts[kHistogramBins];
};

// Counts one block's samples.
template <class Block>
PS_HOST_DEVICE void CountBlock(Block& block,
                               const HistogramArguments& arguments,
                               int64_t block_index, HistogramShared* shared) {
  const int64_t begin = block_index * kSamplesPerBlock;
  const int64_t left = arguments.num_samples - begin;
  const int64_t end =
      begin + (left < kSamplesPerBlock ? left : kSamplesPerBlock);
  block.Phase([&](int thread) {
    for (int b = thread; b < kHistogramBins; b += kSparseThreads) {
      shared->counts[b] = 0;
    }
  });
  block.Phase([&](int thread) {
    for (int64_t i = begin + thread; i < end; i += kSparseThreads) {
      const uint32_t bits =
          FloatBits(arguments.u[i * arguments.stride]) & kMagnitudeMask;
      // Bits below `low` wrap round to a bin that is too high.
      const uint32_t bin = (bits - arguments.low) >> arguments.shift;
      if (bin < kHistogramBins) AtomicAdd(&shared->counts[bin], 1);
    }
  });
  block.Phase([&](int thread) {
    for (int b = thread; b < kHistogramBins; b += kSparseThreads) {
      if (shared->counts[b] == 0) continue;
      AtomicAdd(&arguments.counts[b], shared->counts[b]);
    }
  });
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CORES_HISTOGRAM_H_
