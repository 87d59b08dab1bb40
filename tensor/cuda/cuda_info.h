// Information about the CUDA devices that this process can use. This header has
// no CUDA types, so that any file may include it; the functions also exist in a
// build without the toolkit.
#ifndef TENSOR_CUDA_CUDA_INFO_H_
#define TENSOR_CUDA_CUDA_INFO_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ps {

// The version of the toolkit that this build was made with: 1000 major + 10
// minor, such as 13000 for 13.0; 0 without a toolkit.
int CudaBuildVersion();

// Errors: kUnavailable if the build has no CUDA or the machine no driver.
absl::StatusOr<int> CudaDeviceCount();

// Runs y += a x on the first device and compares the result with the host's, to
// check that this build's device code runs on this machine's device. Errors:
// kUnavailable as above or if there is no device; kInternal for a wrong result.
absl::Status CudaSelfCheck();

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_INFO_H_
