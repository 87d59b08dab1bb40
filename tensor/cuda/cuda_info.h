// Information about the CUDA devices that this process can use.
#ifndef TENSOR_CUDA_CUDA_INFO_H_
#define TENSOR_CUDA_CUDA_INFO_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ps {

// Errors: kUnavailable if the machine has no driver.
absl::StatusOr<int> CudaDeviceCount();

// Runs y += a x on the first device and compares the result with the host's, to
// check that this build's device code runs on this machine's device. Errors:
// kUnavailable as above or if there is no device; kInternal for a wrong result.
absl::Status CudaSelfCheck();

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_INFO_H_
