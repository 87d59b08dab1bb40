// The computation of a kernel, apart from how it is launched. A *core* is a
// small struct of pointers and extents with a call operator that also compiles
// for the host. The device runs it in a grid; a test runs the same code block
// by block and thread by thread on a machine without a device.
#ifndef TENSOR_CUDA_LAYER_DEVICE_KERNEL_CORE_H_
#define TENSOR_CUDA_LAYER_DEVICE_KERNEL_CORE_H_

#include <cstdint>

#ifdef __CUDACC__
#define PS_HOST_DEVICE __host__ __device__
#else
#define PS_HOST_DEVICE
#endif

namespace ps {

// A core derived from this has
//   void operator()(int64_t i) const;
// which is called once for each i in [0, count), by threads in any order.
struct ElementCore {};

// A core derived from this has
//   struct Shared;  // Trivially constructible; a block's common memory.
//   static constexpr int kPhases;
//   void operator()(int phase, int64_t block, int thread, Shared*) const;
// which is called for each block in [0, count). Within a block it is called for
// phases 0, 1, ..., kPhases - 1, and within a phase for threads [0,
// kBlockThreads) in any order: all threads finish a phase before any begins the
// next. The barriers are therefore in the launcher, and none can be in
// divergent code.
struct BlockCore {};

inline constexpr int kBlockThreads = 256;
inline constexpr int kBlockThreadsLog2 = 8;
static_assert(1 << kBlockThreadsLog2 == kBlockThreads);

// One level of a sum over a block: phases 0 to kBlockThreadsLog2 - 1 leave the
// sum of all `values` in the first. The tree is fixed, so the result always has
// the same bits.
template <typename T>
PS_HOST_DEVICE inline void AddHalves(int level, int thread, T* values) {
  const int half = kBlockThreads >> (level + 1);
  if (thread < half) values[thread] += values[thread + half];
}

template <typename T>
PS_HOST_DEVICE inline T Smaller(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
PS_HOST_DEVICE inline T Larger(T a, T b) {
  return a < b ? b : a;
}

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_KERNEL_CORE_H_
