// Device memory, and pinned host memory, each from one CUDA call.
//
// Includes CUDA's headers, so only for libraries that are built only with the
// toolkit.
#ifndef TENSOR_CUDA_CUDA_MEMORY_H_
#define TENSOR_CUDA_CUDA_MEMORY_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace ps {

// Memory on the current device; freed with the last handle, which waits for the
// device's work. Errors: kResourceExhausted.
absl::StatusOr<std::shared_ptr<void>> AllocateDeviceMemory(int64_t size_bytes);

// Pinned host memory, which the device can copy to and from without an
// intermediate buffer. Only work of `stream`, which outlives the memory, may
// use it, and the thread that frees it waits for that stream. Waiting for the
// whole device would end a recording that is in progress on any other stream.
absl::StatusOr<std::shared_ptr<void>> AllocatePinnedMemory(int64_t size_bytes,
                                                           cudaStream_t stream);

// Pinned host memory that no work may use when its last handle is dropped, in
// any thread.
absl::StatusOr<std::shared_ptr<uint8_t[]>> AllocatePinnedBytes(
    int64_t size_bytes);

// How much memory of the current device one of `num_sharers` equal users should
// take in total: nine tenths of an even share of the whole, since the driver,
// cuBLAS and cuDNN need some of their own, but no more than is free.
absl::StatusOr<int64_t> ShareOfDeviceMemory(int num_sharers);

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_MEMORY_H_
