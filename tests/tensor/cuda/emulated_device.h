// A CUDA device that is not there: its runtime (emulated_runtime.cc) and the
// kernels (emulated_sparse_launch.cc) as host code, for tests that link these
// in place of CUDA's.
//
// Streams are queues of work that nobody does before somebody waits for it, and
// then no more of it than must be done: whatever is not ordered by an event
// runs too late, and a test sees it. The device's memory is the host's.
#ifndef TESTS_TENSOR_CUDA_EMULATED_DEVICE_H_
#define TESTS_TENSOR_CUDA_EMULATED_DEVICE_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

#include "tests/tensor/cuda/host_block.h"

namespace ps {

// Puts a kernel's work at the end of a stream.
cudaError_t QueueOnEmulatedStream(cudaStream_t stream,
                                  std::function<void()> work);

// The order of threads and blocks from now on.
void SetEmulatedThreadOrder(ThreadOrder order);
ThreadOrder EmulatedThreadOrder();

// The call of the runtime after which `num_calls` more go well fails with
// `error`, and so do all after it. Negative: none does.
void FailEmulatedCallsAfter(int num_calls, cudaError_t error);

// From now on only queued work may touch the device's memory that is allocated
// from now on: anybody else dies of a segmentation fault. Slow. Returns true.
bool ProtectEmulatedDeviceMemory();

// Calls so far, of allocation alone, and all that may fail.
int64_t NumEmulatedAllocations();
int64_t NumEmulatedCalls();

// Kernels queued so far, and times that the host has waited for a stream.
int64_t NumEmulatedLaunches();
int64_t NumEmulatedWaits();

// Whether backends that are made from now on find cuDNN; at first they do not.
// Returns false if the build has no headers of it. Only with the device's
// layers.
bool InstallEmulatedCudnn(bool installed);

// Convolutions and their gradients that it was asked for so far.
int64_t NumEmulatedConvolutions();

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_EMULATED_DEVICE_H_
