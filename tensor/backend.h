// A device: its memory, and the kernels that run on it.
#ifndef TENSOR_BACKEND_H_
#define TENSOR_BACKEND_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tensor/nn_kernels.h"
#include "tensor/sequence_kernels.h"
#include "tensor/sparse_kernels.h"
#include "tensor/tensor.h"

namespace ps {

// One thread at a time uses a backend, except where a method says otherwise.
class Backend {
 public:
  virtual ~Backend() = default;

  // For logs: "cpu".
  virtual absl::string_view name() const = 0;

  // Zeroed, aligned to at least 64 bytes. Errors: kResourceExhausted.
  virtual absl::StatusOr<Tensor> Allocate(const Shape& shape) = 0;

  // `host` holds tensor->size() elements. Done when the call returns.
  virtual absl::Status CopyFromHost(const float* host, Tensor* tensor) = 0;
  virtual absl::Status CopyToHost(const Tensor& tensor, float* host) = 0;

  // Bytes of the host, not initialised, that CopyToHost fills fastest and that
  // can be sent from where they are; aligned to at least 16. Any thread may
  // drop the last handle, also after the backend's end.
  virtual std::shared_ptr<uint8_t[]> HostBuffer(int64_t size_bytes) {
    return std::shared_ptr<uint8_t[]>(new uint8_t[size_bytes]);
  }

  // All live as long as the backend.
  virtual NnKernels& nn() = 0;
  virtual SequenceKernels& sequences() = 0;
  virtual SparseKernels& sparse() = 0;
};

struct CpuBackendOptions {
  // Threads of one operation; at least 1. Results do not depend on it in the
  // sparse kernels.
  int num_threads = 1;
};

// In //tensor/cpu:cpu_backend. Errors: kInvalidArgument.
absl::StatusOr<std::unique_ptr<Backend>> NewCpuBackend(
    const CpuBackendOptions& options);

}  // namespace ps

#endif  // TENSOR_BACKEND_H_
