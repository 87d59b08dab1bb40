#include "tensor/cuda/sparse/cuda_vector_kernels.h"

#include "common/status_macros.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/sparse/sparse_launch.h"

namespace ps {
namespace {

class CudaVectorKernels final : public VectorKernels {
 public:
  explicit CudaVectorKernels(CudaStreams* streams) : streams_(streams) {}

  absl::Status Scale(const ScaledVector& x, int64_t n, float* out) override {
    return AddScaled(x, ScaledVector(), n, out);
  }

  absl::Status AddScaled(const ScaledVector& x, const ScaledVector& y,
                         int64_t n, float* out) override {
    if (n == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(streams_->MakeCurrent());
    PS_RETURN_IF_CUDA_ERROR(LaunchScaledSum(
        {x.data, x.scale, y.data, y.scale, out}, n, streams_->compute()));
    return absl::OkStatus();
  }

  absl::Status Clear(float* u, int64_t n) override {
    if (n == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(streams_->MakeCurrent());
    PS_RETURN_IF_CUDA_ERROR(
        cudaMemsetAsync(u, 0, n * sizeof(float), streams_->compute()));
    return absl::OkStatus();
  }

 private:
  CudaStreams* const streams_;  // Not owned.
};

}  // namespace

std::unique_ptr<VectorKernels> NewCudaVectorKernels(CudaStreams* streams) {
  return std::make_unique<CudaVectorKernels>(streams);
}

}  // namespace ps
