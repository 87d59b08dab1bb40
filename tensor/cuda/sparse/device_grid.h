// Grids on the device whose blocks can wait for each other. For .cu files.
#ifndef TENSOR_CUDA_SPARSE_DEVICE_GRID_H_
#define TENSOR_CUDA_SPARSE_DEVICE_GRID_H_

#include <cuda_runtime.h>

#include <cstdint>

#include "tensor/cuda/sparse/cores/host_device.h"
#include "tensor/cuda/sparse/device_block.h"

namespace ps {

// The view of one thread, in a kernel launched by LaunchGrid. See
// cores/host_device.h.
template <class Shared>
class DeviceGrid {
 public:
  PS_HOST_DEVICE DeviceGrid(Shared* shared, GridBarrier* barrier)
      : shared_(shared), barrier_(barrier) {}

  // Every thread of the grid must call these.
  template <class Body>
  PS_HOST_DEVICE void Phase(const Body& body) {
    Phase(body, [](DeviceBlock&, Shared*) {});
  }

  template <class Body>
  PS_HOST_DEVICE void Final(const Body& body) {
#ifdef __CUDA_ARCH__
    body(block_, int64_t{blockIdx.x}, int64_t{gridDim.x}, shared_);
#else
    (void)body;
#endif
  }

  template <class Body, class Last>
  PS_HOST_DEVICE void Phase(const Body& body, const Last& last) {
    Final(body);
#ifdef __CUDA_ARCH__
    unsigned round = 0;  // Used by thread 0 alone.
    if (Arrive(&round)) {
      last(block_, shared_);
      Release();
    } else {
      Await(round);
    }
#else
    (void)last;
#endif
  }

 private:
#ifdef __CUDA_ARCH__
  // A fence by one thread, between two __syncthreads(), orders the memory of
  // the whole block: cooperative groups rely on the same. They have no step
  // between the arrival of all and the release, hence this barrier.

  // Whether this block is the last one to arrive.
  __device__ bool Arrive(unsigned* round) {
    __syncthreads();
    bool last = false;
    if (threadIdx.x == 0) {
      // The round cannot end before this block has arrived.
      *round = *static_cast<volatile unsigned*>(&barrier_->round);
      __threadfence();
      last = atomicAdd(&barrier_->arrived, 1u) == gridDim.x - 1;
      __threadfence();
    }
    return __syncthreads_or(last);
  }

  __device__ void Release() {
    __syncthreads();
    if (threadIdx.x == 0) {
      barrier_->arrived = 0;
      __threadfence();
      atomicAdd(&barrier_->round, 1u);
    }
    __syncthreads();
  }

  __device__ void Await(unsigned round) {
    if (threadIdx.x == 0) {
      while (*static_cast<volatile unsigned*>(&barrier_->round) == round) {
      }
      __threadfence();
    }
    __syncthreads();
  }
#endif

  DeviceBlock block_;
  Shared* const shared_;
  GridBarrier* const barrier_;
};

// The number of blocks of a kernel that fit the current device at a time, or
// max_per_processor on each multiprocessor if that is less.
template <class Kernel>
cudaError_t MaxGridBlocks(Kernel kernel, int threads, int max_per_processor,
                          int* num_blocks) {
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) {
    return error;
  }
  int processors = 0;
  if (const cudaError_t error = cudaDeviceGetAttribute(
          &processors, cudaDevAttrMultiProcessorCount, device);
      error != cudaSuccess) {
    return error;
  }
  int per_processor = 0;
  if (const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &per_processor, kernel, threads, /*dynamicSMemSize=*/0);
      error != cudaSuccess) {
    return error;
  }
  if (per_processor > max_per_processor) per_processor = max_per_processor;
  *num_blocks = processors * per_processor;
  return cudaSuccess;
}

// Launches a kernel whose blocks are all resident at the same time; fails if
// they do not fit.
template <class... Parameters>
cudaError_t LaunchGrid(void (*kernel)(Parameters...), int64_t num_blocks,
                       int threads, cudaStream_t stream, Parameters... values) {
  void* pointers[] = {&values...};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel),
                                     dim3(static_cast<unsigned>(num_blocks)),
                                     dim3(static_cast<unsigned>(threads)),
                                     pointers, /*sharedMem=*/0, stream);
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_DEVICE_GRID_H_
