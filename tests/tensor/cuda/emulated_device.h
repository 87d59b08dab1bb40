// An emulated CUDA device: its runtime (emulated_runtime.cc) and the kernels
// (emulated_sparse_launch.cc) as host code, for tests that link these instead
// of CUDA's.
//
// Streams are queues of work. Nothing runs until somebody waits for it, and
// then only as much as is necessary. Work that is not ordered by an event
// therefore runs too late, and a test notices it. The device's memory is host
// memory.
#ifndef TESTS_TENSOR_CUDA_EMULATED_DEVICE_H_
#define TESTS_TENSOR_CUDA_EMULATED_DEVICE_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>

#include "tests/tensor/cuda/host_block.h"

namespace ps {

// Appends a kernel's work to a stream.
cudaError_t QueueOnEmulatedStream(cudaStream_t stream,
                                  std::function<void()> work);

// Sets the order of threads and blocks from now on.
void SetEmulatedThreadOrder(ThreadOrder order);
ThreadOrder EmulatedThreadOrder();

// After `num_calls` more successful calls of the runtime, the next call fails
// with `error`, and so do all after it. Negative: no call fails.
void FailEmulatedCallsAfter(int num_calls, cudaError_t error);

// From now on only queued work may access device memory that is allocated from
// now on; any other access is a segmentation fault. Slow. Returns true.
bool ProtectEmulatedDeviceMemory();

// Whether all of these bytes are in one piece of pinned memory.
bool IsEmulatedPinnedMemory(const void* data, size_t size_bytes);

// Number of allocation calls so far, and of all calls that can fail.
int64_t NumEmulatedAllocations();
int64_t NumEmulatedCalls();

// Number of kernels queued so far, and of times that the host waited for a
// stream.
int64_t NumEmulatedLaunches();
int64_t NumEmulatedWaits();

// Number of times that the time between two events was asked for.
int64_t NumEmulatedTimings();

// Sets whether backends that are made from now on find cuDNN; initially they do
// not. Returns false if the build does not have its headers. Only for tests
// that link the device's layers.
bool InstallEmulatedCudnn(bool installed);

// From now on the call of cuDNN with this name (FakeCudnn::failing) fails,
// since a part of the library cannot be loaded; empty: no call fails.
void FailEmulatedCudnn(const std::string& call);

// Number of calls of cuDNN for passes of layers so far.
int64_t NumEmulatedConvolutions();

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_EMULATED_DEVICE_H_
