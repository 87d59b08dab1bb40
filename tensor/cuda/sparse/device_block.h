// A block of threads on the device, for the bodies in cores/.
#ifndef TENSOR_CUDA_SPARSE_DEVICE_BLOCK_H_
#define TENSOR_CUDA_SPARSE_DEVICE_BLOCK_H_

#include <cstdint>

#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

// The view of one thread. See host_device.h.
class DeviceBlock {
 public:
  template <class T>
  class PerThread {
   public:
    PS_HOST_DEVICE T& operator[](int) { return value_; }

   private:
    T value_;
  };

  // Every thread of the block must call this.
  template <class Body>
  PS_HOST_DEVICE void Phase(const Body& body) {
#ifdef __CUDA_ARCH__
    body(static_cast<int>(threadIdx.x));
    __syncthreads();
#else
    (void)body;
#endif
  }

  template <class Body>
  PS_HOST_DEVICE void Each(const Body& body) {
#ifdef __CUDA_ARCH__
    body(static_cast<int>(threadIdx.x));
#else
    (void)body;
#endif
  }

  // Every thread of the block must call this.
  template <class Put>
  PS_HOST_DEVICE int Pack(PerThread<uint32_t>& masks, PackTileShared* shared,
                          const Put& put) {
#ifdef __CUDA_ARCH__
    // A lane for each four counts.
    static_assert(kItemsPerThread * kSparseWarps == 4 * kWarpThreads, "");
    constexpr unsigned kAll = 0xffffffff;
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % kWarpThreads;
    const int warp = thread / kWarpThreads;
    const uint32_t mask = masks[thread];
    const bool some = __any_sync(kAll, mask != 0);
    int count = 0;  // Lane k's: of the warp's elements k.
    if (some) {
#pragma unroll
      for (int k = 0; k < kItemsPerThread; ++k) {
        const uint32_t wanted = __ballot_sync(kAll, mask >> k & 1);
        if (lane == k) count = __popc(wanted);
      }
    }
    // Another call's counts, which a slower warp may still read.
    int* const counts = shared->counts[turn_];
    turn_ = 1 - turn_;
    if (lane < kItemsPerThread) counts[lane * kSparseWarps + warp] = count;
    __syncthreads();
    const int4 four = reinterpret_cast<const int4*>(counts)[lane];
    const int sum = four.x + four.y + four.z + four.w;
    int up_to = sum;
#pragma unroll
    for (int distance = 1; distance < kWarpThreads; distance *= 2) {
      const int other = __shfl_up_sync(kAll, up_to, distance);
      if (lane >= distance) up_to += other;
    }
    const int total = __shfl_sync(kAll, up_to, kWarpThreads - 1);
    if (!some) return total;
    // The number before the warp's count among the lane's four.
    const int place = warp % 4;
    const int before = up_to - sum + (place > 0 ? four.x : 0) +
                       (place > 1 ? four.y : 0) + (place > 2 ? four.z : 0);
#pragma unroll
    for (int k = 0; k < kItemsPerThread; ++k) {
      const uint32_t wanted = __ballot_sync(kAll, mask >> k & 1);
      if (wanted == 0) continue;
      const int first =
          __shfl_sync(kAll, before, (k * kSparseWarps + warp) / 4);
      if ((mask >> k & 1) == 0) continue;
      put(thread, k, first + __popc(wanted & ((1u << lane) - 1)));
    }
    return total;
#else
    (void)masks, (void)shared, (void)put;
    return 0;
#endif
  }

 private:
  int turn_ = 0;
};

// Shared memory for a type with member initialisers, which do not run.
#define PS_SHARED_MEMORY(Type, name)                               \
  __shared__ alignas(16) unsigned char name##_bytes[sizeof(Type)]; \
  Type* const name = reinterpret_cast<Type*>(name##_bytes)

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_DEVICE_BLOCK_H_
