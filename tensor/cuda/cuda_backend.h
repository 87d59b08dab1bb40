// A backend on one CUDA device. Free of CUDA types, so that any file may
// include it; a build without the toolkit has the functions, too.
#ifndef TENSOR_CUDA_CUDA_BACKEND_H_
#define TENSOR_CUDA_CUDA_BACKEND_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/backend.h"

namespace ps {

class CudaStreams;
class MemoryRegion;

struct CudaLayers {
  std::unique_ptr<NnKernels> nn;
  std::unique_ptr<SequenceKernels> sequences;
  // As Backend's; null: nothing moves.
  std::function<int64_t()> memory_version;
};

// Layers that work on streams.compute(), on the current device, with memory of
// the region. The streams outlive them.
using CudaLayerFactory = std::function<absl::StatusOr<CudaLayers>(
    const CudaStreams& streams, const std::shared_ptr<MemoryRegion>& memory)>;

struct CudaBackendOptions {
  int device = 0;  // From 0.
  // Of the device, taken at once, for all that is ever allocated; at least 0.
  // 0: a share of the device.
  int64_t memory_bytes = 0;
  int num_sharers = 1;  // Of the device, this one included; at least 1.
  // Null: for compressors alone. nn() and sequences() must not be called then.
  CudaLayerFactory layers;
};

// Work is queued on three streams, for layers, for compressors and for copies,
// and is ordered as it was called: no caller sees that there are several. What
// has a result for the host is done when the call returns. Tensors may outlive
// the backend.
//
// Errors: kUnavailable without a device, or in a build without CUDA;
// kInvalidArgument for options that break a rule; kResourceExhausted.
absl::StatusOr<std::unique_ptr<Backend>> NewCudaBackend(
    const CudaBackendOptions& options);

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_BACKEND_H_
