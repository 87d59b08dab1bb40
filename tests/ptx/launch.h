// What the two parts of the runtime know of each other.
#ifndef TESTS_PTX_LAUNCH_H_
#define TESTS_PTX_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <mutex>

namespace ptx {

// Held by every call, also while queued work runs.
std::recursive_mutex& RuntimeLock();

// Records an error for cudaGetLastError, and returns it.
cudaError_t SetLastError(cudaError_t error);

// The error of a kernel that failed, if there is one, or else `error`.
cudaError_t FaultOr(cudaError_t error);

}  // namespace ptx

#endif  // TESTS_PTX_LAUNCH_H_
