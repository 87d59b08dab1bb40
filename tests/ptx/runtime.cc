// CUDA's runtime on the CPU: memory, streams, events and graphs. launch.cc has
// the launches of kernels.

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/ptx/device.h"
#include "tests/ptx/launch.h"
#include "tests/ptx/memory.h"

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

namespace ptx {
namespace {

// Held by every call, also while queued work runs: two sides of a backend may
// call at once.
std::recursive_mutex& Lock() {
  static auto* const mutex = new std::recursive_mutex();
  return *mutex;
}
using CallLock = std::lock_guard<std::recursive_mutex>;

int calls_before_failure = -1;
cudaError_t failure = cudaSuccess;
int64_t num_allocations = 0;
int64_t num_calls = 0;
int64_t num_launches = 0;
int64_t num_waits = 0;
int64_t num_timings = 0;

thread_local cudaError_t last_error = cudaSuccess;
bool default_stream_allowed = false;

cudaError_t Call() {
  ++num_calls;
  if (calls_before_failure < 0) return cudaSuccess;
  if (calls_before_failure == 0) return last_error = failure;
  --calls_before_failure;
  return cudaSuccess;
}

// For wrong use that CUDA would not report.
void Require(bool condition, const char* message) {
  if (condition) return;
  std::fprintf(stderr, "ptx: %s\n", message);
  std::abort();
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
    Require(mprotect(piece.pages, piece.pages_bytes, protection) == 0,
            "mprotect failed");
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

// The legacy default stream, whose work waits for that of all streams.
CUstream_st* DefaultStream() {
  static CUstream_st* const stream = [] {
    auto* const made = new CUstream_st();
    Streams().insert(made);
    return made;
  }();
  return stream;
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
  std::memset(memory, kPoison, std::min(size, size_t{1} << 23));
}

// The caller must hold the lock.
cudaError_t Queue(cudaStream_t stream, std::function<void()> work) {
  if (stream == nullptr) {
    Require(default_stream_allowed, "work on no stream of its own");
    RunAll();
    stream = DefaultStream();
  }
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

cudaError_t QueueOnStream(cudaStream_t stream, std::function<void()> work) {
  const CallLock lock(Lock());
  ++num_launches;
  return Queue(stream, std::move(work));
}

void AllowDefaultStream() { default_stream_allowed = true; }

cudaError_t SetLastError(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

std::recursive_mutex& RuntimeLock() { return Lock(); }

void FailCallsAfter(int num_calls, cudaError_t error) {
  calls_before_failure = num_calls;
  failure = error;
  last_error = cudaSuccess;
}

bool ProtectDeviceMemory() {
  is_protected = true;
  return true;
}

bool IsPinnedMemory(const void* data, size_t size_bytes) {
  const CallLock lock(Lock());
  return IsPinned(data, size_bytes);
}

int64_t NumAllocations() { return num_allocations; }
int64_t NumCalls() { return num_calls; }
int64_t NumLaunches() { return num_launches; }
int64_t NumWaits() { return num_waits; }
int64_t NumTimings() { return num_timings; }

}  // namespace ptx

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  const ptx::CallLock lock(ptx::Lock());
  *count = 1;
  return ptx::Call();
}

cudaError_t cudaSetDevice(int device) {
  const ptx::CallLock lock(ptx::Lock());
  ptx::Require(device == 0, "a device other than 0");
  return ptx::Call();
}

cudaError_t cudaGetDevice(int* device) {
  const ptx::CallLock lock(ptx::Lock());
  *device = 0;
  return ptx::Call();
}

cudaError_t cudaDeviceSynchronize() {
  const ptx::CallLock lock(ptx::Lock());
  if (const cudaError_t error = ptx::RefuseInAnyCapture();
      error != cudaSuccess) {
    return error;
  }
  ptx::RunAll();
  return ptx::FaultOr(ptx::Call());
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const ptx::CallLock lock(ptx::Lock());
  *total = size_t{1} << 30;
  *free = *total / 2;
  return ptx::Call();
}

cudaError_t cudaMalloc(void** memory, size_t size) {
  const ptx::CallLock lock(ptx::Lock());
  if (const cudaError_t error = ptx::RefuseInCapture(); error != cudaSuccess) {
    return error;
  }
  if (const cudaError_t error = ptx::Call(); error != cudaSuccess) return error;
  ++ptx::num_allocations;
  ptx::DevicePiece piece;
  piece.size = size;
  piece.pages_bytes = ptx::RoundUp(size, ptx::kPageBytes);
  void* const pages =
      mmap(nullptr, piece.pages_bytes + ptx::kPageBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return cudaErrorMemoryAllocation;
  piece.pages = static_cast<char*>(pages);
  // Each launch changes the protection of all pages; let there be few.
  madvise(pages, piece.pages_bytes, MADV_HUGEPAGE);
  ptx::Poison(piece.begin(), size);
  std::memset(piece.end(), ptx::kPoison,
              piece.pages + piece.pages_bytes - piece.end());
  ptx::Require(mprotect(piece.pages + piece.pages_bytes, ptx::kPageBytes,
                        PROT_NONE) == 0,
               "mprotect failed");
  if (ptx::is_protected) {
    ptx::Require(mprotect(pages, piece.pages_bytes, PROT_NONE) == 0,
                 "mprotect failed");
  }
  *memory = piece.begin();
  ptx::DeviceMemory()[*memory] = piece;
  ptx::AddRegion(*memory, size);
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  const ptx::CallLock lock(ptx::Lock());
  if (const cudaError_t error = ptx::RefuseInCapture(); error != cudaSuccess) {
    return error;
  }
  const auto found = ptx::DeviceMemory().find(memory);
  if (memory == nullptr) return cudaSuccess;
  ptx::Require(found != ptx::DeviceMemory().end(),
               "cudaFree of memory that is not allocated");
  const ptx::DevicePiece& piece = found->second;
  // Work that is queued may still use it.
  ptx::RunAll();
  if (ptx::is_protected) {
    ptx::Require(mprotect(piece.pages, piece.pages_bytes, PROT_READ) == 0,
                 "mprotect failed");
  }
  for (const char* after = piece.end(); after < piece.pages + piece.pages_bytes;
       ++after) {
    if (*after == ptx::kPoison) continue;
    ptx::Require(false, ("written " + std::to_string(after - piece.end()) +
                         " bytes beyond the end of " +
                         std::to_string(piece.size) + " bytes")
                            .c_str());
  }
  ptx::RemoveRegion(memory);
  ptx::Require(munmap(piece.pages, piece.pages_bytes + ptx::kPageBytes) == 0,
               "munmap failed");
  ptx::DeviceMemory().erase(found);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** memory, size_t size, unsigned) {
  const ptx::CallLock lock(ptx::Lock());
  if (const cudaError_t error = ptx::RefuseInCapture(); error != cudaSuccess) {
    return error;
  }
  if (const cudaError_t error = ptx::Call(); error != cudaSuccess) return error;
  ++ptx::num_allocations;
  *memory = std::aligned_alloc(256, (size + 255) / 256 * 256);
  if (*memory == nullptr) return cudaErrorMemoryAllocation;
  ptx::PinnedMemory()[static_cast<char*>(*memory)] = size;
  ptx::AddRegion(*memory, size);
  ptx::Poison(*memory, size);
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** memory, size_t size) {
  return cudaHostAlloc(memory, size, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* memory) {
  const ptx::CallLock lock(ptx::Lock());
  if (const cudaError_t error = ptx::RefuseInCapture(); error != cudaSuccess) {
    return error;
  }
  if (memory == nullptr) return cudaSuccess;
  ptx::PinnedMemory().erase(static_cast<char*>(memory));
  ptx::RemoveRegion(memory);
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const ptx::CallLock lock(ptx::Lock());
  if (const cudaError_t error = ptx::Call(); error != cudaSuccess) return error;
  *stream = new CUstream_st();
  ptx::Streams().insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const ptx::CallLock lock(ptx::Lock());
  ptx::RunUntil(stream, stream->num_queued);
  ptx::Streams().erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const ptx::CallLock lock(ptx::Lock());
  if (stream == nullptr && ptx::default_stream_allowed) {
    stream = ptx::DefaultStream();
  }
  ptx::Require(stream != nullptr, "a wait for no stream of its own");
  if (stream->is_capturing) {
    stream->capture_is_void = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  ++ptx::num_waits;
  ptx::RunUntil(stream, stream->num_queued);
  return ptx::FaultOr(ptx::Call());
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  const ptx::CallLock lock(ptx::Lock());
  if (const cudaError_t error = ptx::Call(); error != cudaSuccess) return error;
  *event = new CUevent_st();
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const ptx::CallLock lock(ptx::Lock());
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const ptx::CallLock lock(ptx::Lock());
  if (stream == nullptr && ptx::default_stream_allowed) {
    stream = ptx::DefaultStream();
  }
  ptx::Require(stream != nullptr, "an event on no stream of its own");
  ptx::Require(!stream->is_capturing, "an event within a capture");
  event->stream = stream;
  event->after = stream->num_queued;
  return ptx::Call();
}

// Each piece of work takes a millisecond.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start,
                                 cudaEvent_t end) {
  const ptx::CallLock lock(ptx::Lock());
  ++ptx::num_timings;
  ptx::Require(start->stream == end->stream, "events of two streams");
  if (end->stream->num_done < end->after) return cudaErrorNotReady;
  *milliseconds = static_cast<float>(end->after - start->after);
  return ptx::Call();
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const ptx::CallLock lock(ptx::Lock());
  CUstream_st* const stream = event->stream;
  if (stream != nullptr && stream->num_done < event->after) {
    ++ptx::num_waits;
    ptx::RunUntil(stream, event->after);
  }
  return ptx::FaultOr(ptx::Call());
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned) {
  const ptx::CallLock lock(ptx::Lock());
  // An event from outside the capture.
  if (stream->is_capturing) {
    stream->capture_is_void = true;
    return cudaErrorStreamCaptureIsolation;
  }
  // Refers to the event in its current state. A stream that is gone by then
  // has done its work.
  return ptx::Queue(stream, [of = *event] {
    if (ptx::Streams().count(of.stream) > 0) ptx::RunUntil(of.stream, of.after);
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  const ptx::CallLock lock(ptx::Lock());
  const void* const host = kind == cudaMemcpyHostToDevice   ? from
                           : kind == cudaMemcpyDeviceToHost ? to
                                                            : nullptr;
  if (stream != nullptr && stream->is_capturing && host != nullptr &&
      !ptx::IsPinned(host, size)) {
    stream->capture_is_void = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  return ptx::Queue(stream, [to, from, size] { std::memcpy(to, from, size); });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t size,
                       cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(to, from, size, kind, nullptr);
  return error != cudaSuccess ? error : cudaStreamSynchronize(nullptr);
}

cudaError_t cudaMemset(void* to, int value, size_t size) {
  return cudaMemsetAsync(to, value, size, nullptr);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t size,
                            cudaStream_t stream) {
  const ptx::CallLock lock(ptx::Lock());
  return ptx::Queue(stream,
                    [to, value, size] { std::memset(to, value, size); });
}

cudaError_t cudaGetLastError() {
  return std::exchange(ptx::last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() { return ptx::last_error; }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                   cudaStreamCaptureMode mode) {
  const ptx::CallLock lock(ptx::Lock());
  ptx::Require(mode == cudaStreamCaptureModeThreadLocal,
               "a capture that is not thread-local");
  ptx::Require(ptx::capturing == nullptr, "a capture within a capture");
  if (const cudaError_t error = ptx::Call(); error != cudaSuccess) return error;
  ptx::capturing = stream;
  stream->is_capturing = true;
  stream->capture_is_void = false;
  stream->captured.clear();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const ptx::CallLock lock(ptx::Lock());
  ptx::Require(ptx::capturing == stream, "the end of another capture");
  ptx::capturing = nullptr;
  stream->is_capturing = false;
  *graph = nullptr;
  if (const cudaError_t error = ptx::Call(); error != cudaSuccess) return error;
  if (stream->capture_is_void) return cudaErrorStreamCaptureInvalidated;
  *graph = new CUgraph_st{std::move(stream->captured)};
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  const ptx::CallLock lock(ptx::Lock());
  if (const cudaError_t error = ptx::Call(); error != cudaSuccess) return error;
  *executable = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const ptx::CallLock lock(ptx::Lock());
  // A single item of work, which does not depend on the lifetime of the graph.
  return ptx::Queue(stream, [work = executable->work] {
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
