// Reductions over the threads of a block, in a fixed order, so that the result
// always has the same bits.
#ifndef TENSOR_CUDA_LAYER_DEVICE_BLOCK_CUH_
#define TENSOR_CUDA_LAYER_DEVICE_BLOCK_CUH_

#include <cuda_runtime.h>

#include "tensor/cuda/layer_device/channel_geometry.h"

namespace ps {

// Combines values[j] of kBlockThreads values with values[j + half] for halves
// down to `lanes`, a power of 2, so that values[j] for j < lanes has those of
// all numbers that are equal modulo `lanes`. All threads of the block call it,
// after each has written its value; all see the result.
template <typename T, typename Combine>
__device__ void CombineHalves(T* values, const Combine& combine,
                              int lanes = 1) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int half = kBlockThreads / 2; half >= lanes; half /= 2) {
    __syncthreads();
    if (thread < half) {
      values[thread] = combine(values[thread], values[thread + half]);
    }
  }
  __syncthreads();
}

struct Add {
  template <typename T>
  __device__ T operator()(const T& a, const T& b) const {
    return a + b;
  }
};

// The combination of the values of all threads.
template <typename T, typename Combine>
__device__ T ReduceBlock(const T& value, const Combine& combine) {
  __shared__ T values[kBlockThreads];
  __syncthreads();  // The values of an earlier call have been read.
  values[threadIdx.x] = value;
  CombineHalves(values, combine);
  return values[0];
}

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_BLOCK_CUH_
