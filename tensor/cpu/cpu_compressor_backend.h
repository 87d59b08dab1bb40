// Implements the CPU's memory and its kernels for compressors: without layers,
// and so without oneDNN, which is half of a server's image.
#ifndef TENSOR_CPU_CPU_COMPRESSOR_BACKEND_H_
#define TENSOR_CPU_CPU_COMPRESSOR_BACKEND_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tensor/backend.h"

namespace ps {

class CpuCompressorBackend : public Backend {
 public:
  // num_threads: at least 1.
  explicit CpuCompressorBackend(int num_threads);

  absl::string_view name() const override { return "cpu"; }
  absl::StatusOr<Tensor> Allocate(const Shape& shape) override;
  absl::Status CopyFromHost(const float* host, Tensor* tensor) override;
  absl::Status CopyToHost(const Tensor& tensor, float* host) override;

  // There are no layers: a call is a bug of the caller.
  NnKernels& nn() override;
  SequenceKernels& sequences() override;
  SparseKernels& sparse() override { return *sparse_; }

 private:
  const std::unique_ptr<SparseKernels> sparse_;
};

// Checks the options. Errors: kInvalidArgument.
absl::Status CheckCpuBackendOptions(const CpuBackendOptions& options);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_COMPRESSOR_BACKEND_H_
