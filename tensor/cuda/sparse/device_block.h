// A block of threads on the device, for the bodies in cores/.
#ifndef TENSOR_CUDA_SPARSE_DEVICE_BLOCK_H_
#define TENSOR_CUDA_SPARSE_DEVICE_BLOCK_H_

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
};

// Shared memory for a type with member initialisers, which do not run.
#define PS_SHARED_MEMORY(Type, name)                               \
  __shared__ alignas(16) unsigned char name##_bytes[sizeof(Type)]; \
  Type* const name = reinterpret_cast<Type*>(name##_bytes)

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_DEVICE_BLOCK_H_
