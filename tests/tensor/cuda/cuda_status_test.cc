// Tests of error codes need the toolkit, but no device.
#include "gtest/gtest.h"

#ifdef PS_HAVE_CUDA

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
}

TEST(CudaStatusTest, NamesTheCallAndTheError) {
  Expect(CudaToStatus(cudaErrorMemoryAllocation, "cudaMalloc"),
         absl::StatusCode::kResourceExhausted,
         "cudaMalloc: ", "cudaErrorMemoryAllocation");
  Expect(CudaToStatus(cudaErrorNoDevice, "cudaSetDevice"),
         absl::StatusCode::kUnavailable,
         "cudaSetDevice: ", "cudaErrorNoDevice");
  Expect(CudaToStatus(cudaErrorIllegalAddress, "launching PassKernel"),
         absl::StatusCode::kInternal,
         "launching PassKernel: ", "cudaErrorIllegalAddress");
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
