// CUDA's runtime on the CPU: streams, events and graphs. memory.cc has its
// memory, launch.cc the launches of kernels.

#include "tests/ptx/runtime.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/ptx/device.h"

using Work = std::function<void()>;

// The names are CUDA's.
struct CUgraph_st {
  std::vector<Work> work;
  bool is_void = false;  // After a call that cannot be captured.
};
struct CUgraphExec_st : CUgraph_st {};

struct CUstream_st {
  std::deque<Work> queue;
  int64_t num_queued = 0;
  int64_t num_done() const {
    return num_queued - static_cast<int64_t>(queue.size());
  }
  // From the beginning of a capture to its end: the work queued since.
  std::unique_ptr<CUgraph_st> capture;
};

struct CUevent_st {
  CUstream_st* stream = nullptr;
  int64_t after = 0;  // Number of the stream's work items.
};

namespace ptx {
namespace {

int calls_before_failure = -1;
cudaError_t failure = cudaSuccess;
int64_t num_calls = 0;
int64_t num_launches = 0;
int64_t num_waits = 0;
bool default_stream_allowed = false;

thread_local cudaError_t last_error = cudaSuccess;
thread_local CUstream_st* capturing = nullptr;  // By this thread.

std::set<CUstream_st*>& Streams() {
  static auto* const streams = new std::set<CUstream_st*>();
  return *streams;
}

CUstream_st* NewStream() { return *Streams().insert(new CUstream_st()).first; }

// The stream that a call names: null is the legacy default stream, whose work
// waits for that of all streams.
CUstream_st* Named(cudaStream_t stream) {
  if (stream != nullptr) return stream;
  Require(default_stream_allowed, "a call on no stream of its own");
  static CUstream_st* const default_stream = NewStream();
  return default_stream;
}

void RunUntil(CUstream_st* stream, int64_t num_done) {
  if (stream->num_done() >= num_done) return;
  BeginDeviceAccess();
  while (stream->num_done() < num_done) {
    // Taken first, since its own dependencies never include itself.
    const Work work = std::move(stream->queue.front());
    stream->queue.pop_front();
    work();
  }
  EndDeviceAccess();
}

cudaError_t RefuseInCaptureOf(
    CUstream_st* stream,
    cudaError_t error = cudaErrorStreamCaptureUnsupported) {
  if (stream == nullptr || stream->capture == nullptr) return cudaSuccess;
  stream->capture->is_void = true;
  return error;
}

// The caller must hold the lock.
cudaError_t Queue(cudaStream_t stream, Work work) {
  if (stream == nullptr) RunAll();
  stream = Named(stream);
  if (const cudaError_t error = Call(); error != cudaSuccess) return error;
  if (stream->capture != nullptr) {
    stream->capture->work.push_back(std::move(work));
    return cudaSuccess;
  }
  stream->queue.push_back(std::move(work));
  ++stream->num_queued;
  return cudaSuccess;
}

}  // namespace

std::recursive_mutex& Mutex() {
  static auto* const mutex = new std::recursive_mutex();
  return *mutex;
}

cudaError_t Call() {
  ++num_calls;
  if (calls_before_failure < 0) return cudaSuccess;
  if (calls_before_failure == 0) return SetLastError(failure);
  --calls_before_failure;
  return cudaSuccess;
}

cudaError_t RefuseInCapture() { return RefuseInCaptureOf(capturing); }

cudaError_t CallOutsideCapture() {
  const cudaError_t error = RefuseInCapture();
  return error == cudaSuccess ? Call() : error;
}

cudaError_t SetLastError(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

void RunAll() {
  for (CUstream_st* const stream : Streams()) {
    RunUntil(stream, stream->num_queued);
  }
}

void Require(bool condition, const std::string& message) {
  if (condition) return;
  std::fprintf(stderr, "ptx: %s\n", message.c_str());
  std::abort();
}

cudaError_t QueueOnStream(cudaStream_t stream, Work work) {
  const CallLock lock;
  ++num_launches;
  return Queue(stream, std::move(work));
}

void AllowDefaultStream() { default_stream_allowed = true; }

void FailCallsAfter(int num_calls, cudaError_t error) {
  calls_before_failure = num_calls;
  failure = error;
  last_error = cudaSuccess;
}

int64_t NumCalls() { return num_calls; }
int64_t NumLaunches() { return num_launches; }
int64_t NumWaits() { return num_waits; }

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return CallFor([&] { *count = 1; });
}

cudaError_t cudaSetDevice(int device) {
  return CallFor([&] { Require(device == 0, "a device other than 0"); });
}

cudaError_t cudaGetDevice(int* device) {
  return CallFor([&] { *device = 0; });
}

// Waiting for a handle that includes a stream under capture is rejected in
// every thread, whatever the mode ("CUDA C++ Programming Guide", Prohibited and
// Unhandled Operations).
cudaError_t cudaDeviceSynchronize() {
  const CallLock lock;
  bool refused = false;
  for (CUstream_st* const stream : Streams()) {
    refused |= RefuseInCaptureOf(stream) != cudaSuccess;
  }
  if (refused) return cudaErrorStreamCaptureUnsupported;
  RunAll();
  return FaultOr(Call());
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return CallFor([&] { *stream = NewStream(); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const CallLock lock;
  RunUntil(stream, stream->num_queued);
  Streams().erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const CallLock lock;
  stream = Named(stream);
  const cudaError_t refused = RefuseInCaptureOf(stream);
  if (refused != cudaSuccess) return refused;
  ++num_waits;
  RunUntil(stream, stream->num_queued);
  return FaultOr(Call());
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return CallFor([&] { *event = new CUevent_st(); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const CallLock lock;
  stream = Named(stream);
  Require(stream->capture == nullptr, "an event within a capture");
  *event = {stream, stream->num_queued};
  return Call();
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const CallLock lock;
  CUstream_st* const stream = event->stream;
  if (stream != nullptr && stream->num_done() < event->after) {
    ++num_waits;
    RunUntil(stream, event->after);
  }
  return FaultOr(Call());
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned) {
  const CallLock lock;
  // The event is from outside the capture.
  const cudaError_t refused =
      RefuseInCaptureOf(stream, cudaErrorStreamCaptureIsolation);
  if (refused != cudaSuccess) return refused;
  // Refers to the event in its current state. A stream that is gone by then
  // has done its work.
  return Queue(stream, [of = *event] {
    if (Streams().count(of.stream) > 0) RunUntil(of.stream, of.after);
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  const CallLock lock;
  const void* const host = kind == cudaMemcpyHostToDevice   ? from
                           : kind == cudaMemcpyDeviceToHost ? to
                                                            : nullptr;
  if (host != nullptr && !IsPinnedMemory(host, size)) {
    const cudaError_t refused = RefuseInCaptureOf(stream);
    if (refused != cudaSuccess) return refused;
  }
  return Queue(stream, [to, from, size] { std::memcpy(to, from, size); });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t size,
                       cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(to, from, size, kind, nullptr);
  return error != cudaSuccess ? error : cudaStreamSynchronize(nullptr);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t size,
                            cudaStream_t stream) {
  const CallLock lock;
  return Queue(stream, [to, value, size] { std::memset(to, value, size); });
}

cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() { return last_error; }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                   cudaStreamCaptureMode mode) {
  Require(mode == cudaStreamCaptureModeThreadLocal,
          "a capture that is not thread-local");
  Require(capturing == nullptr, "a capture within a capture");
  return CallFor([&] {
    capturing = stream;
    stream->capture = std::make_unique<CUgraph_st>();
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const CallLock lock;
  Require(capturing == stream, "the end of another capture");
  capturing = nullptr;
  std::unique_ptr<CUgraph_st> captured = std::move(stream->capture);
  *graph = nullptr;
  if (const cudaError_t error = Call(); error != cudaSuccess) return error;
  if (captured->is_void) return cudaErrorStreamCaptureInvalidated;
  *graph = captured.release();
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  return CallFor([&] { *executable = new CUgraphExec_st{*graph}; });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const CallLock lock;
  // A single item of work, which does not depend on the lifetime of the graph.
  return Queue(stream, [work = executable->work] {
    for (const Work& piece : work) piece();
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

}  // namespace ptx
