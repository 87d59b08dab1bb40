// Consecutive elements of a vector in a block's registers or shared memory:
// loaded together, since each load alone would take hundreds of cycles.
#ifndef COMPRESSORS_CUDA_ENCODING_STRETCH_H_
#define COMPRESSORS_CUDA_ENCODING_STRETCH_H_

#include <cstdint>

#include "tensor/cuda/sparse/cores/host_device.h"
#include "tensor/cuda/sparse/cores/tile.h"

namespace ps {

// One thread's share of `size` elements, at most kPerThread * kSparseThreads:
// elements thread, thread + kSparseThreads, and so on, so that neighbouring
// threads read neighbouring elements. read(i) must not depend on earlier reads.
template <class T, int kPerThread>
struct Share {
  T elements[kPerThread];

  template <class Read>
  PS_HOST_DEVICE Share(int thread, int size, Read read) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = 0; k < kPerThread; ++k) {
      const int i = k * kSparseThreads + thread;
      elements[k] = i < size ? read(i) : T();
    }
  }

  // Calls see(i, element) for each.
  template <class See>
  PS_HOST_DEVICE void ForEach(int thread, int size, See see) const {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = 0; k < kPerThread; ++k) {
      const int i = k * kSparseThreads + thread;
      if (i < size) see(i, elements[k]);
    }
  }
};

// Values in shared memory, at most kMaxSize: those of a chunk, and fewer than
// kSparseThreads more.
struct Stretch {
  static constexpr int kPerThread = kItemsPerThread + 1;
  static constexpr int kMaxSize = kPerThread * kSparseThreads;

  float values[kMaxSize + kMaxSize / kItemsPerThread];

  PS_HOST_DEVICE float* at(int i) { return values + PaddedIndex(i); }
};

template <class Block>
PS_HOST_DEVICE void LoadStretch(Block& block, const float* from, int size,
                                Stretch* stretch) {
  block.Phase([&](int thread) {
    const Share<float, Stretch::kPerThread> share(
        thread, size, [from](int i) { return from[i]; });
    share.ForEach(thread, size,
                  [stretch](int i, float value) { *stretch->at(i) = value; });
  });
}

template <class Block>
PS_HOST_DEVICE void StoreStretch(Block& block, Stretch* stretch, int size,
                                 float* to) {
  block.Phase([&](int thread) {
    for (int i = thread; i < size; i += kSparseThreads) to[i] = *stretch->at(i);
  });
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_STRETCH_H_
