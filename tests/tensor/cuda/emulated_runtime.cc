#ifdef PS_HAVE_CUDA

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "glog/logging.h"
#include "tests/tensor/cuda/emulated_device.h"

// The names are CUDA's.
struct CUstream_st {
  std::deque<std::function<void()>> queue;
  int64_t num_queued = 0;
  int64_t num_done = 0;
  // From the beginning of a capture to its end: the work queued since.
  bool is_capturing = false;
  bool capture_is_void = false;  // After a call that cannot be captured.
  std::vector<std::function<void()>> captured;
};

struct CUgraph_st {
  std::vector<std::function<void()>> work;
};

struct CUgraphExec_st {
  std::vector<std::function<void()>> work;
};

struct CUevent_st {
  CUstream_st* stream = nullptr;
  int64_t after = 0;  // Number of the stream's work items.
};

namespace ps {
namespace {

// Held by every call, also while queued work runs: two sides of a backend may
// call at once.
std::recursive_mutex& Lock() {
  static auto* const mutex = new std::recursive_mutex();
  return *mutex;
}
using CallLock = std::lock_guard<std::recursive_mutex>;

ThreadOrder thread_order = ThreadOrder::kForward;
int calls_before_failure = -1;
cudaError_t failure = cudaSuccess;
int64_t num_allocations = 0;
int64_t num_calls = 0;
int64_t num_launches = 0;
int64_t num_waits = 0;
int64_t num_timings = 0;

cudaError_t Call() {
  ++num_calls;
  if (calls_before_failure < 0) return cudaSuccess;
  if (calls_before_failure == 0) return failure;
  --calls_before_failure;
  return cudaSuccess;
}

constexpr size_t kPageBytes = 4096;
constexpr size_t kAlignmentBytes = 256;  // CUDA's, of all memory.

size_t RoundUp(size_t size, size_t unit) {
  return (size + unit - 1) / unit * unit;
}

// One allocation on the device: it ends at the end of its pages, or less than
// kAlignmentBytes before, and a page that nobody may access follows.
struct DevicePiece {
  char* pages = nullptr;
  size_t pages_bytes = 0;
  size_t size = 0;  // As requested.

  char* begin() const {
    return pages + pages_bytes - RoundUp(size, kAlignmentBytes);
  }
  char* end() const { return begin() + size; }
};

// The device's memory, which only the device's work may access.
std::map<void*, DevicePiece>& DeviceMemory() {
  static auto* const memory = new std::map<void*, DevicePiece>();
  return *memory;
}
int working_depth = 0;
bool is_protected = false;

void SetDeviceMemoryAccess(int protection) {
  if (!is_protected) return;
  for (const auto& [begin, piece] : DeviceMemory()) {
    PCHECK(mprotect(piece.pages, piece.pages_bytes, protection) == 0);
  }
}

void RunUntil(CUstream_st* stream, int64_t num_done) {
  if (stream->num_done >= num_done) return;
  if (working_depth++ == 0) SetDeviceMemoryAccess(PROT_READ | PROT_WRITE);
  while (stream->num_done < num_done) {
    const std::function<void()> work = std::move(stream->queue.front());
    stream->queue.pop_front();
    // Counted first, since its own dependencies never include itself.
    ++stream->num_done;
    work();
  }
  if (--working_depth == 0) SetDeviceMemoryAccess(PROT_NONE);
}

std::set<CUstream_st*>& Streams() {
  static auto* const streams = new std::set<CUstream_st*>();
  return *streams;
}

// The stream that this thread captures. In CUDA's thread-local mode, calls that
// allocate or free memory are rejected during a capture of the same thread
// ("CUDA Runtime API", cudaThreadExchangeStreamCaptureMode).
thread_local CUstream_st* capturing = nullptr;

cudaError_t RefuseInCapture() {
  if (capturing == nullptr) return cudaSuccess;
  capturing->capture_is_void = true;
  return cudaErrorStreamCaptureUnsupported;
}

// Waiting for a handle that includes a stream under capture is rejected in
// every thread, whatever the mode ("CUDA C++ Programming Guide", Prohibited and
// Unhandled Operations).
cudaError_t RefuseInAnyCapture() {
  cudaError_t error = cudaSuccess;
  for (CUstream_st* const stream : Streams()) {
    if (!stream->is_capturing) continue;
    stream->capture_is_void = true;
    error = cudaErrorStreamCaptureUnsupported;
  }
  return error;
}

void RunAll() {
  for (CUstream_st* const stream : Streams()) {
    RunUntil(stream, stream->num_queued);
  }
}

// Sizes of pinned memory by address.
std::map<const char*, size_t>& PinnedMemory() {
  static auto* const memory = new std::map<const char*, size_t>();
  return *memory;
}

bool IsPinned(const void* data, size_t size) {
  const char* const begin = static_cast<const char*>(data);
  auto after = PinnedMemory().upper_bound(begin);
  if (after == PinnedMemory().begin()) return false;
  --after;
  return begin + size <= after->first + after->second;
}

// Makes uninitialised memory look like NaNs; only the beginning of large
// memory.
constexpr char kPoison = '\xff';
void Poison(void* memory, size_t size) {
  std::memset(memory, kPoison, std::min(size, size_t{1} << 26));
}

// The caller must hold the lock.
cudaError_t Queue(cudaStream_t stream, std::function<void()> work) {
  CHECK(stream != nullptr) << "work on no stream of its own";
  if (const cudaError_t error = Call(); error != cudaSuccess) return error;
  if (stream->is_capturing) {
    stream->captured.push_back(std::move(work));
    return cudaSuccess;
  }
  stream->queue.push_back(std::move(work));
  ++stream->num_queued;
  return cudaSuccess;
}

}  // namespace

cudaError_t QueueOnEmulatedStream(cudaStream_t stream,
                                  std::function<void()> work) {
  const CallLock lock(Lock());
  ++num_launches;
  return Queue(stream, std::move(work));
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

bool IsEmulatedPinnedMemory(const void* data, size_t size_bytes) {
  const CallLock lock(Lock());
  return IsPinned(data, size_bytes);
}

int64_t NumEmulatedAllocations() { return num_allocations; }
int64_t NumEmulatedCalls() { return num_calls; }
int64_t NumEmulatedLaunches() { return num_launches; }
int64_t NumEmulatedWaits() { return num_waits; }
int64_t NumEmulatedTimings() { return num_timings; }

}  // namespace ps

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  const ps::CallLock lock(ps::Lock());
  *count = 1;
  return ps::Call();
}

cudaError_t cudaSetDevice(int device) {
  const ps::CallLock lock(ps::Lock());
  CHECK_EQ(device, 0);
  return ps::Call();
}

cudaError_t cudaGetDevice(int* device) {
  const ps::CallLock lock(ps::Lock());
  *device = 0;
  return ps::Call();
}

cudaError_t cudaDeviceSynchronize() {
  const ps::CallLock lock(ps::Lock());
  if (const cudaError_t error = ps::RefuseInAnyCapture();
      error != cudaSuccess) {
    return error;
  }
  ps::RunAll();
  return ps::Call();
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const ps::CallLock lock(ps::Lock());
  *total = size_t{1} << 30;
  *free = *total / 2;
  return ps::Call();
}

cudaError_t cudaMalloc(void** memory, size_t size) {
  const ps::CallLock lock(ps::Lock());
  if (const cudaError_t error = ps::RefuseInCapture(); error != cudaSuccess) {
    return error;
  }
  if (const cudaError_t error = ps::Call(); error != cudaSuccess) return error;
  ++ps::num_allocations;
  ps::DevicePiece piece;
  piece.size = size;
  piece.pages_bytes = ps::RoundUp(size, ps::kPageBytes);
  void* const pages =
      mmap(nullptr, piece.pages_bytes + ps::kPageBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return cudaErrorMemoryAllocation;
  piece.pages = static_cast<char*>(pages);
  // Each launch changes the protection of all pages; let there be few.
  madvise(pages, piece.pages_bytes, MADV_HUGEPAGE);
  ps::Poison(piece.begin(), size);
  std::memset(piece.end(), ps::kPoison,
              piece.pages + piece.pages_bytes - piece.end());
  PCHECK(mprotect(piece.pages + piece.pages_bytes, ps::kPageBytes, PROT_NONE) ==
         0);
  if (ps::is_protected) {
    PCHECK(mprotect(pages, piece.pages_bytes, PROT_NONE) == 0);
  }
  *memory = piece.begin();
  ps::DeviceMemory()[*memory] = piece;
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  const ps::CallLock lock(ps::Lock());
  if (const cudaError_t error = ps::RefuseInCapture(); error != cudaSuccess) {
    return error;
  }
  const auto found = ps::DeviceMemory().find(memory);
  CHECK(found != ps::DeviceMemory().end());
  const ps::DevicePiece& piece = found->second;
  // Work that is queued may still use it.
  ps::RunAll();
  if (ps::is_protected) {
    PCHECK(mprotect(piece.pages, piece.pages_bytes, PROT_READ) == 0);
  }
  for (const char* after = piece.end(); after < piece.pages + piece.pages_bytes;
       ++after) {
    CHECK_EQ(*after, ps::kPoison)
        << "written " << after - piece.end() << " bytes beyond the end of "
        << piece.size << " bytes";
  }
  PCHECK(munmap(piece.pages, piece.pages_bytes + ps::kPageBytes) == 0);
  ps::DeviceMemory().erase(found);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** memory, size_t size, unsigned) {
  const ps::CallLock lock(ps::Lock());
  if (const cudaError_t error = ps::RefuseInCapture(); error != cudaSuccess) {
    return error;
  }
  if (const cudaError_t error = ps::Call(); error != cudaSuccess) return error;
  ++ps::num_allocations;
  *memory = std::aligned_alloc(256, (size + 255) / 256 * 256);
  if (*memory == nullptr) return cudaErrorMemoryAllocation;
  ps::PinnedMemory()[static_cast<char*>(*memory)] = size;
  ps::Poison(*memory, size);
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** memory, size_t size) {
  return cudaHostAlloc(memory, size, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* memory) {
  const ps::CallLock lock(ps::Lock());
  if (const cudaError_t error = ps::RefuseInCapture(); error != cudaSuccess) {
    return error;
  }
  ps::PinnedMemory().erase(static_cast<char*>(memory));
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const ps::CallLock lock(ps::Lock());
  if (const cudaError_t error = ps::Call(); error != cudaSuccess) return error;
  *stream = new CUstream_st();
  ps::Streams().insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const ps::CallLock lock(ps::Lock());
  ps::RunUntil(stream, stream->num_queued);
  ps::Streams().erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const ps::CallLock lock(ps::Lock());
  if (stream->is_capturing) {
    stream->capture_is_void = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  ++ps::num_waits;
  ps::RunUntil(stream, stream->num_queued);
  return ps::Call();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  const ps::CallLock lock(ps::Lock());
  if (const cudaError_t error = ps::Call(); error != cudaSuccess) return error;
  *event = new CUevent_st();
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const ps::CallLock lock(ps::Lock());
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const ps::CallLock lock(ps::Lock());
  CHECK(!stream->is_capturing) << "an event within a capture";
  event->stream = stream;
  event->after = stream->num_queued;
  return ps::Call();
}

// Each piece of work takes a millisecond.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start,
                                 cudaEvent_t end) {
  const ps::CallLock lock(ps::Lock());
  ++ps::num_timings;
  CHECK(start->stream == end->stream);
  if (end->stream->num_done < end->after) return cudaErrorNotReady;
  *milliseconds = static_cast<float>(end->after - start->after);
  return ps::Call();
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const ps::CallLock lock(ps::Lock());
  CUstream_st* const stream = event->stream;
  if (stream != nullptr && stream->num_done < event->after) {
    ++ps::num_waits;
    ps::RunUntil(stream, event->after);
  }
  return ps::Call();
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned) {
  const ps::CallLock lock(ps::Lock());
  // An event from outside the capture.
  if (stream->is_capturing) {
    stream->capture_is_void = true;
    return cudaErrorStreamCaptureIsolation;
  }
  // Refers to the event in its current state. A stream that is gone by then
  // has done its work.
  return ps::Queue(stream, [of = *event] {
    if (ps::Streams().count(of.stream) > 0) ps::RunUntil(of.stream, of.after);
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  const ps::CallLock lock(ps::Lock());
  const void* const host = kind == cudaMemcpyHostToDevice   ? from
                           : kind == cudaMemcpyDeviceToHost ? to
                                                            : nullptr;
  if (stream->is_capturing && host != nullptr && !ps::IsPinned(host, size)) {
    stream->capture_is_void = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  return ps::Queue(stream, [to, from, size] { std::memcpy(to, from, size); });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t size,
                            cudaStream_t stream) {
  const ps::CallLock lock(ps::Lock());
  return ps::Queue(stream, [to, value, size] { std::memset(to, value, size); });
}

cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                   cudaStreamCaptureMode mode) {
  const ps::CallLock lock(ps::Lock());
  CHECK_EQ(mode, cudaStreamCaptureModeThreadLocal);
  CHECK(ps::capturing == nullptr);
  if (const cudaError_t error = ps::Call(); error != cudaSuccess) return error;
  ps::capturing = stream;
  stream->is_capturing = true;
  stream->capture_is_void = false;
  stream->captured.clear();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const ps::CallLock lock(ps::Lock());
  CHECK(ps::capturing == stream);
  ps::capturing = nullptr;
  stream->is_capturing = false;
  *graph = nullptr;
  if (const cudaError_t error = ps::Call(); error != cudaSuccess) return error;
  if (stream->capture_is_void) return cudaErrorStreamCaptureInvalidated;
  *graph = new CUgraph_st{std::move(stream->captured)};
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  const ps::CallLock lock(ps::Lock());
  if (const cudaError_t error = ps::Call(); error != cudaSuccess) return error;
  *executable = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const ps::CallLock lock(ps::Lock());
  // A single item of work, which does not depend on the lifetime of the graph.
  return ps::Queue(stream, [work = executable->work] {
    for (const auto& piece : work) piece();
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}

const char* cudaGetErrorName(cudaError_t) { return "emulated"; }

const char* cudaGetErrorString(cudaError_t) { return "an emulated error"; }

}  // extern "C"

#endif  // PS_HAVE_CUDA
