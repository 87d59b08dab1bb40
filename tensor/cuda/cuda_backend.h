// A backend on one CUDA device. This header has no CUDA types, so that any file
// may include it.
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
  // As Backend::memory_version; null: addresses never change.
  std::function<int64_t()> memory_version;
};

// Creates layers that work on streams.compute(), on the current device, with
// memory of the region. The streams outlive the layers.
using CudaLayerFactory = std::function<absl::StatusOr<CudaLayers>(
    const CudaStreams& streams, const std::shared_ptr<MemoryRegion>& memory)>;

struct CudaBackendOptions {
  int device = 0;  // Device index, from 0.
  // Memory of the device that is taken at once, for everything that will be
  // allocated; at least 0. 0: a share of the device.
  int64_t memory_bytes = 0;
  int num_sharers = 1;  // Users of the device, including this one; at least 1.
  // Threads that encode what is sent; at least 1.
  int num_host_threads = 1;
  // For debugging: whether each tensor and buffer is an allocation of its own,
  // so that compute-sanitizer finds accesses beyond its end. Slow.
  bool separate_allocations = false;
  // Null: the backend is only for compressors, and nn() and sequences() must
  // not be called.
  CudaLayerFactory layers;
};

// Work is queued on three streams (for layers, compressors and copies) but
// ordered as it was called, so that callers cannot tell that there are several.
// A call that returns a result to the host returns once that result is
// complete. Tensors may outlive the backend.
//
// Errors: kUnavailable without a device; kInvalidArgument for options that
// break a rule; kResourceExhausted.
absl::StatusOr<std::unique_ptr<Backend>> NewCudaBackend(
    const CudaBackendOptions& options);

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_BACKEND_H_
