// What the parts of the runtime know of each other.
#ifndef TESTS_PTX_RUNTIME_H_
#define TESTS_PTX_RUNTIME_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <mutex>
#include <string>

namespace ptx {

struct ShadowPage;

// Held by every call, also while queued work runs: two sides of a backend may
// call at once.
std::recursive_mutex& Mutex();
struct CallLock : std::lock_guard<std::recursive_mutex> {
  CallLock() : lock_guard(Mutex()) {}
};

// Counts a call that can fail, and fails it if a test says so.
cudaError_t Call();

// A call that has an effect unless it fails.
template <typename Effect>
cudaError_t CallFor(Effect effect) {
  const CallLock lock;
  const cudaError_t error = Call();
  if (error == cudaSuccess) effect();
  return error;
}

// As Call, for calls that allocate memory. In CUDA's thread-local mode those
// are rejected during a capture of the same thread, as those that free memory
// ("CUDA Runtime API", cudaThreadExchangeStreamCaptureMode).
cudaError_t CallOutsideCapture();
cudaError_t RefuseInCapture();

// Records an error for cudaGetLastError, and returns it.
cudaError_t SetLastError(cudaError_t error);

// The error of a kernel that failed, if there is one, or else `error`.
cudaError_t FaultOr(cudaError_t error);

// Runs all work of all streams.
void RunAll();

// For wrong use that CUDA would not report: ends the process.
void Require(bool condition, const std::string& message);

// The shadow of the page that holds [address, address + size); null if these
// bytes are not all in one allocation, piece of pinned memory or variable.
ShadowPage* FindShadow(uint64_t address, int size);

// Where an address is, for messages.
std::string DescribeAddress(uint64_t address);

// Between these calls the device's memory may be accessed even if a test
// protects it. Calls nest.
void BeginDeviceAccess();
void EndDeviceAccess();

// What device.h sets.
uint32_t ShuffleSeed();
bool RacesAreChecked();

}  // namespace ptx

#endif  // TESTS_PTX_RUNTIME_H_
