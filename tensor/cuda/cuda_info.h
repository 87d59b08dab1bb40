// Which CUDA devices this process can use. Free of CUDA types, so that any
// file may include it; a build without the toolkit has the functions too.
#ifndef TENSOR_CUDA_CUDA_INFO_H_
#define TENSOR_CUDA_CUDA_INFO_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ps {

// The toolkit that this build was made with: 1000 major + 10 minor, as 13000
// for 13.0; 0 without one.
int CudaBuildVersion();

// Errors: kUnavailable when the build has no CUDA, or the machine no driver.
absl::StatusOr<int> CudaDeviceCount();

// Runs y += a x on the first device and compares with the host: whether this
// build's device code runs on this machine's device. Errors: kUnavailable as
// above or without a device; kInternal for a wrong result.
absl::Status CudaSelfCheck();

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_INFO_H_
