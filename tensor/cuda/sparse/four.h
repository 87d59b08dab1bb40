// Kernels that treat the elements of arrays one by one, four neighbours a
// thread: 16 bytes of each array of floats at a time. For .cu files.
#ifndef TENSOR_CUDA_SPARSE_FOUR_H_
#define TENSOR_CUDA_SPARSE_FOUR_H_

#include <cuda_runtime.h>

#include <cstdint>

namespace ps {

constexpr int kFour = 4;

// Whether the array may be read 16 bytes at a time.
__device__ inline bool IsAligned(const void* array) {
  return reinterpret_cast<uintptr_t>(array) % sizeof(float4) == 0;
}

// The four neighbours from `begin` on, or as many as there are.
struct FourOf {
  int64_t begin = 0;
  int size = kFour;

  __device__ void Load(const float* from, float (&x)[kFour]) const {
    if (size == kFour && IsAligned(from)) {
      const float4 four = *reinterpret_cast<const float4*>(from + begin);
      x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
      return;
    }
#pragma unroll
    for (int k = 0; k < kFour; ++k) x[k] = k < size ? from[begin + k] : 0;
  }
  __device__ void Store(const float (&x)[kFour], float* to) const {
    if (size == kFour && IsAligned(to)) {
      *reinterpret_cast<float4*>(to + begin) =
          make_float4(x[0], x[1], x[2], x[3]);
      return;
    }
#pragma unroll
    for (int k = 0; k < kFour; ++k) {
      if (k < size) to[begin + k] = x[k];
    }
  }
};

constexpr int kFourThreads = 256;

template <class Body>
__global__ void __launch_bounds__(kFourThreads)
    ForFoursKernel(Body body, int64_t n) {
  for (int64_t t = int64_t{blockIdx.x} * kFourThreads + threadIdx.x;
       t * kFour < n; t += int64_t{gridDim.x} * kFourThreads) {
    FourOf four;
    four.begin = t * kFour;
    if (n - four.begin < kFour) four.size = static_cast<int>(n - four.begin);
    body(four);
  }
}

// Queues body(four) for all of n elements, at least 1.
template <class Body>
cudaError_t LaunchFours(const Body& body, int64_t n, cudaStream_t stream) {
  // Enough to fill any device several times.
  constexpr int64_t kMaxBlocks = 4096;
  const int64_t blocks =
      (n + kFourThreads * kFour - 1) / (kFourThreads * kFour);
  ForFoursKernel<<<static_cast<unsigned>(blocks < kMaxBlocks ? blocks
                                                             : kMaxBlocks),
                   kFourThreads, 0, stream>>>(body, n);
  return cudaGetLastError();
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_FOUR_H_
