// Memory of a device, and of the host for it, each from one call of CUDA.
//
// Includes CUDA's headers: only for libraries that exist where there is a
// toolkit.
#ifndef TENSOR_CUDA_CUDA_MEMORY_H_
#define TENSOR_CUDA_CUDA_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/pinned_ring.h"

namespace ps {

// On the current device; freed with the last handle. Errors:
// kResourceExhausted.
absl::StatusOr<std::shared_ptr<void>> AllocateDeviceMemory(int64_t size_bytes);

// Pinned memory of the host, which the device copies to and from without a
// stop in between. Who frees it waits for the current device, and has that as
// its own then.
absl::StatusOr<std::shared_ptr<void>> AllocatePinnedMemory(int64_t size_bytes);

// A ring whose buffers are pinned.
absl::StatusOr<std::unique_ptr<PinnedRing>> NewPinnedRing(int num_buffers,
                                                          int64_t buffer_bytes);

// How much of the current device one of `num_sharers` equal users should take
// in all: nine tenths of an even share of the whole, for the driver, cuBLAS and
// cuDNN need some of their own, and no more than is free.
absl::StatusOr<int64_t> ShareOfDeviceMemory(int num_sharers);

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_MEMORY_H_
