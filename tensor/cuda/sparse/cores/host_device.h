// The means to compile a function by nvcc for the device and by any compiler
// for the host, with results that have the same bits.
//
// A kernel's body here is a function template over a `Block`, written in
// phases:
//
//     block.Phase([&](int thread) { ... });
//
// In a phase every thread of the block does its work, and at its end all wait
// for each other. On the device (device_block.h) the phase runs for the thread
// that calls it and ends with __syncthreads(); on the host
// (tests/tensor/cuda/host_block.h) it is a loop over all threads. Code between
// phases is the same for all threads: it may read the arguments, and shared
// memory that no thread of the next phase writes. Values that a thread keeps
// from phase to phase are in a Block::PerThread<T>.
//
//     block.Each([&](int thread) { ... });
//
// is a phase at whose end no thread waits: what it writes for other threads may
// be read after the next phase or the next Pack. Two more calls do what threads
// of a device can only do together:
//
//     const int num_wanted = block.Pack(masks, &shared->pack,
//         [&](int thread, int k, int rank) { ... });
//
// Bit k of masks[thread] (k < kItemsPerThread) says that element thread + k *
// kSparseThreads of a tile is wanted. The function is called for each wanted
// element, with the number of those before it, as in Each. All threads wait for
// each other once, before the first of these calls.
//
// If blocks must also wait for each other, a body is a template over a `Grid`,
// in phases of all blocks:
//
//     grid.Phase([&](auto& block, int64_t b, int64_t num_blocks,
//                    Shared* shared) { ... });
//
// Block b of num_blocks has its own shared memory, whose contents are undefined
// at the start of the phase. If something must be done with what all blocks
// have written, before any of them goes on, it is a second function:
//
//     grid.Phase(..., [&](auto& block, Shared* shared) { ... });
//
// The last block that is done with the first one runs it, while the others
// wait: two things that depend on each other cost one wait. Nothing follows a
// phase that is called Final instead, and no block waits after it. Code between
// these phases is the same for all threads of all blocks: it may read the
// arguments, and device memory that no block writes in the next phase. See
// device_grid.h, and tests/tensor/cuda/host_grid.h.
#ifndef TENSOR_CUDA_SPARSE_CORES_HOST_DEVICE_H_
#define TENSOR_CUDA_SPARSE_CORES_HOST_DEVICE_H_

#include <cstdint>
#include <cstring>

#include "common/float_bits.h"
#include "common/host_device.h"

namespace ps {

// In device memory: where the blocks of a grid wait for each other. All zero
// before the first launch; every launch leaves it ready for the next one.
struct GridBarrier {
  unsigned arrived = 0;  // Blocks that wait.
  unsigned round = 0;    // How often all have been released.
};

// Sums and products that are each rounded, never fused. On the host this needs
// the compiler's -ffp-contract=off.
PS_HOST_DEVICE inline double AddRounded(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}

PS_HOST_DEVICE inline double MultiplyRounded(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

PS_HOST_DEVICE inline float AddRounded(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

PS_HOST_DEVICE inline float MultiplyRounded(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

PS_HOST_DEVICE inline uint64_t DoubleBits(double x) {
#ifdef __CUDA_ARCH__
  return static_cast<uint64_t>(__double_as_longlong(x));
#else
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
#endif
}

PS_HOST_DEVICE inline double DoubleFromBits(uint64_t bits) {
#ifdef __CUDA_ARCH__
  return __longlong_as_double(static_cast<long long>(bits));
#else
  double x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
#endif
}

PS_HOST_DEVICE inline int CountOnes(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __popc(bits);
#else
  return __builtin_popcount(bits);
#endif
}

// Integers, so the order of additions does not matter.
PS_HOST_DEVICE inline void AtomicAdd(uint32_t* sum, uint32_t x) {
#ifdef __CUDA_ARCH__
  atomicAdd(sum, x);
#else
  *sum += x;
#endif
}

PS_HOST_DEVICE inline void AtomicAdd(unsigned long long* sum, uint32_t x) {
#ifdef __CUDA_ARCH__
  atomicAdd(sum, static_cast<unsigned long long>(x));
#else
  *sum += x;
#endif
}

// Sets bits, and returns the word as it was before.
PS_HOST_DEVICE inline uint32_t AtomicOr(uint32_t* word, uint32_t bits) {
#ifdef __CUDA_ARCH__
  return atomicOr(word, bits);
#else
  const uint32_t before = *word;
  *word |= bits;
  return before;
#endif
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CORES_HOST_DEVICE_H_
