#ifdef PS_HAVE_CUDA

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "glog/logging.h"
#include "tests/tensor/cuda/emulated_device.h"

// The names are CUDA's own.
struct CUstream_st {
  std::deque<std::function<void()>> queue;
  int64_t num_queued = 0;
  int64_t num_done = 0;
};

struct CUevent_st {
  CUstream_st* stream = nullptr;
  int64_t after = 0;  // So many of the stream's pieces of work.
};

namespace ps {
namespace {

// One thread at a time, as a backend.
ThreadOrder thread_order = ThreadOrder::kForward;
int calls_before_failure = -1;
cudaError_t failure = cudaSuccess;
int64_t num_allocations = 0;

cudaError_t Call() {
  if (calls_before_failure < 0) return cudaSuccess;
  if (calls_before_failure == 0) return failure;
  --calls_before_failure;
  return cudaSuccess;
}

// The device's memory, which the host may touch only as the device.
std::map<void*, size_t>& DeviceMemory() {
  static auto* const memory = new std::map<void*, size_t>();
  return *memory;
}
int working_depth = 0;
bool is_protected = false;

void SetDeviceMemoryAccess(int protection) {
  if (!is_protected) return;
  for (const auto& [memory, size] : DeviceMemory()) {
    PCHECK(mprotect(memory, size, protection) == 0);
  }
}

void RunUntil(CUstream_st* stream, int64_t num_done) {
  if (stream->num_done >= num_done) return;
  if (working_depth++ == 0) SetDeviceMemoryAccess(PROT_READ | PROT_WRITE);
  while (stream->num_done < num_done) {
    const std::function<void()> work = std::move(stream->queue.front());
    stream->queue.pop_front();
    // Counted first: what it waits for never waits for itself.
    ++stream->num_done;
    work();
  }
  if (--working_depth == 0) SetDeviceMemoryAccess(PROT_NONE);
}

// What nobody has written is seen as NaNs; of much memory, the beginning.
void Poison(void* memory, size_t size) {
  std::memset(memory, 0xff, std::min(size, size_t{1} << 26));
}

}  // namespace

cudaError_t QueueOnEmulatedStream(cudaStream_t stream,
                                  std::function<void()> work) {
  CHECK(stream != nullptr) << "work on no stream of its own";
  if (const cudaError_t error = Call(); error != cudaSuccess) return error;
  stream->queue.push_back(std::move(work));
  ++stream->num_queued;
  return cudaSuccess;
}

void SetEmulatedThreadOrder(ThreadOrder order) { thread_order = order; }
ThreadOrder EmulatedThreadOrder() { return thread_order; }

void FailEmulatedCallsAfter(int num_calls, cudaError_t error) {
  calls_before_failure = num_calls;
  failure = error;
}

bool ProtectEmulatedDeviceMemory() {
  is_protected = true;
  return true;
}

int64_t NumEmulatedAllocations() { return num_allocations; }

}  // namespace ps

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return ps::Call();
}

cudaError_t cudaSetDevice(int device) {
  CHECK_EQ(device, 0);
  return ps::Call();
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *total = size_t{1} << 30;
  *free = *total / 2;
  return ps::Call();
}

cudaError_t cudaMalloc(void** memory, size_t size) {
  if (const cudaError_t error = ps::Call(); error != cudaSuccess) return error;
  ++ps::num_allocations;
  *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (*memory == MAP_FAILED) return cudaErrorMemoryAllocation;
  ps::Poison(*memory, size);
  if (ps::is_protected) PCHECK(mprotect(*memory, size, PROT_NONE) == 0);
  ps::DeviceMemory()[*memory] = size;
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  const auto found = ps::DeviceMemory().find(memory);
  CHECK(found != ps::DeviceMemory().end());
  PCHECK(munmap(memory, found->second) == 0);
  ps::DeviceMemory().erase(found);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** memory, size_t size, unsigned) {
  if (const cudaError_t error = ps::Call(); error != cudaSuccess) return error;
  ++ps::num_allocations;
  *memory = std::aligned_alloc(256, (size + 255) / 256 * 256);
  if (*memory == nullptr) return cudaErrorMemoryAllocation;
  ps::Poison(*memory, size);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  if (const cudaError_t error = ps::Call(); error != cudaSuccess) return error;
  *stream = new CUstream_st();
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  ps::RunUntil(stream, stream->num_queued);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ps::RunUntil(stream, stream->num_queued);
  return ps::Call();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (const cudaError_t error = ps::Call(); error != cudaSuccess) return error;
  *event = new CUevent_st();
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->stream = stream;
  event->after = stream->num_queued;
  return ps::Call();
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned) {
  // The event as it is now.
  return ps::QueueOnEmulatedStream(stream, [of = *event] {
    if (of.stream != nullptr) ps::RunUntil(of.stream, of.after);
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size,
                            cudaMemcpyKind, cudaStream_t stream) {
  return ps::QueueOnEmulatedStream(
      stream, [to, from, size] { std::memcpy(to, from, size); });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t size,
                            cudaStream_t stream) {
  return ps::QueueOnEmulatedStream(
      stream, [to, value, size] { std::memset(to, value, size); });
}

const char* cudaGetErrorName(cudaError_t) { return "emulated"; }

const char* cudaGetErrorString(cudaError_t) { return "an emulated error"; }

}  // extern "C"

#endif  // PS_HAVE_CUDA
