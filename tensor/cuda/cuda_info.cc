#include "tensor/cuda/cuda_info.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/axpy.h"
#include "tensor/cuda/cuda_status.h"

namespace ps {

absl::StatusOr<int> CudaDeviceCount() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  // CUDA's message for this error is about versions, even if there is no
  // driver.
  if (error == cudaErrorInsufficientDriver) {
    return absl::UnavailableError(absl::StrCat(
        "there is no NVIDIA driver, or one that is too old for CUDA ",
        CUDART_VERSION / 1000, ".", CUDART_VERSION % 1000 / 10));
  }
  PS_RETURN_IF_ERROR(CudaToStatus(error, "cudaGetDeviceCount"));
  return count;
}

absl::Status CudaSelfCheck() {
  const absl::StatusOr<int> count = CudaDeviceCount();
  if (!count.ok()) return count.status();
  if (*count == 0) return absl::UnavailableError("there is no CUDA device");

  // Odd, and large enough for several rounds of the kernel's loop. The values
  // are small integers, so that results are exact on any device.
  constexpr int64_t kSize = 1000003;
  constexpr float kFactor = 3;
  std::vector<float> x(kSize), y(kSize);
  for (int64_t i = 0; i < kSize; ++i) {
    x[i] = static_cast<float>(i % 1001);
    y[i] = static_cast<float>(i % 13);
  }
  const int error = AxpyOnDevice(kFactor, x.data(), kSize, y.data());
  if (error != 0) {
    return CudaToStatus(static_cast<cudaError_t>(error), "CUDA self-check");
  }
  for (int64_t i = 0; i < kSize; ++i) {
    const float expected =
        static_cast<float>(i % 13) + kFactor * static_cast<float>(i % 1001);
    if (y[i] != expected) {
      return absl::InternalError(absl::StrCat("CUDA self-check: element ", i,
                                              " is ", y[i], "; the host has ",
                                              expected));
    }
  }
  return absl::OkStatus();
}

}  // namespace ps
