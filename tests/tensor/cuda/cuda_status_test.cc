// Error codes need the toolkit, but no device.
#include "gtest/gtest.h"

#ifdef PS_HAVE_CUDA

#include <cudnn_graph.h>

#include "absl/strings/match.h"
#include "tensor/cuda/cuda_status.h"

namespace ps {
namespace {

void Expect(const absl::Status& status, absl::StatusCode code,
            absl::string_view call, absl::string_view name) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_TRUE(absl::StartsWith(status.message(), call)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), name)) << status;
}

TEST(CudaStatusTest, SuccessIsOk) {
  EXPECT_TRUE(CudaToStatus(cudaSuccess, "cudaMalloc").ok());
  EXPECT_TRUE(CublasToStatus(CUBLAS_STATUS_SUCCESS, "cublasSgemm").ok());
  EXPECT_TRUE(CudnnToStatus(CUDNN_STATUS_SUCCESS, "cudnnCreate").ok());
}

TEST(CudaStatusTest, NamesTheCallAndTheError) {
  Expect(CudaToStatus(cudaErrorMemoryAllocation, "cudaMalloc"),
         absl::StatusCode::kResourceExhausted,
         "cudaMalloc: ", "cudaErrorMemoryAllocation");
  Expect(CudaToStatus(cudaErrorNoDevice, "cudaSetDevice"),
         absl::StatusCode::kUnavailable,
         "cudaSetDevice: ", "cudaErrorNoDevice");
  Expect(CudaToStatus(cudaErrorIllegalAddress, "launching SiftKernel"),
         absl::StatusCode::kInternal,
         "launching SiftKernel: ", "cudaErrorIllegalAddress");
  Expect(CublasToStatus(CUBLAS_STATUS_ALLOC_FAILED, "cublasCreate"),
         absl::StatusCode::kResourceExhausted,
         "cublasCreate: ", "CUBLAS_STATUS_ALLOC_FAILED");
  Expect(CublasToStatus(CUBLAS_STATUS_EXECUTION_FAILED, "cublasSgemm"),
         absl::StatusCode::kInternal,
         "cublasSgemm: ", "CUBLAS_STATUS_EXECUTION_FAILED");
  Expect(CudnnToStatus(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "cudnnAddTensor"),
         absl::StatusCode::kInternal,
         "cudnnAddTensor: ", "2008, CUDNN_STATUS_BAD_PARAM");
  Expect(CudnnToStatus(CUDNN_STATUS_NOT_INITIALIZED, "cudnnCreate"),
         absl::StatusCode::kUnavailable, "cudnnCreate: ", "1001");
  Expect(CudnnToStatus(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED,
                       "cudnnCreate"),
         absl::StatusCode::kResourceExhausted, "cudnnCreate: ", "4004");
}

absl::Status Fails() {
  PS_RETURN_IF_CUDA_ERROR(cudaError_t(cudaErrorInvalidValue));
  return absl::OkStatus();
}

TEST(CudaStatusTest, MacroReturnsTheErrorWithTheNameAlone) {
  Expect(Fails(), absl::StatusCode::kInternal,
         "cudaError_t: ", "cudaErrorInvalidValue");
}

}  // namespace
}  // namespace ps

#else

TEST(CudaStatusTest, NeedsTheToolkit) { GTEST_SKIP() << "no CUDA toolkit"; }

#endif  // PS_HAVE_CUDA
