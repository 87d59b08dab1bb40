// Inputs on their way to a device: two buffers of pinned memory in turn, one on
// the device, and a stream of their own.
//
// Includes CUDA's headers, so only for libraries that are built only with the
// toolkit.
#ifndef TENSOR_CUDA_CUDA_INPUT_UPLOAD_H_
#define TENSOR_CUDA_CUDA_INPUT_UPLOAD_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/cuda_streams.h"
#include "tensor/cuda/memory_region.h"
#include "tensor/input_upload.h"

namespace ps {

// `streams` is not owned and outlives the result.
absl::StatusOr<std::unique_ptr<InputUpload>> NewCudaInputUpload(
    const CudaStreams* streams, std::shared_ptr<MemoryRegion> memory);

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_INPUT_UPLOAD_H_
