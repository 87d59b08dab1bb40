// A backend's three queues of work on one device, and the order between them.
//
// Includes CUDA's headers, so only for libraries that are built only with the
// toolkit.
#ifndef TENSOR_CUDA_CUDA_STREAMS_H_
#define TENSOR_CUDA_CUDA_STREAMS_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"

namespace ps {

// A stream that never waits implicitly for another one, not even for the
// default stream.
class CudaStream {
 public:
  // Creates a stream on the current device.
  static absl::StatusOr<std::unique_ptr<CudaStream>> Create();
  // Queued work still runs.
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  explicit CudaStream(cudaStream_t stream) : stream_(stream) {}

  const cudaStream_t stream_;
};

// A point in a stream's queue, without timing.
class CudaEvent {
 public:
  // Creates an event on the current device.
  static absl::StatusOr<std::unique_ptr<CudaEvent>> Create();
  ~CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  cudaEvent_t get() const { return event_; }

 private:
  explicit CudaEvent(cudaEvent_t event) : event_(event) {}

  const cudaEvent_t event_;
};

// One thread at a time; but while the backend's two sides overlap
// (tensor/backend.h) the compute side may call Mark(), and each side may call
// the other const methods with its own streams.
class CudaStreams {
 public:
  // Errors: kInvalidArgument for a device that does not exist, or CUDA's.
  static absl::StatusOr<std::unique_ptr<CudaStreams>> Create(int device);

  int device() const { return device_; }
  // For layers.
  cudaStream_t compute() const { return compute_->get(); }
  // For compressors, and for applying what servers sent.
  cudaStream_t compression() const { return compression_->get(); }
  // For copies between host and device.
  cudaStream_t copies() const { return copies_->get(); }

  // CUDA's current device is per thread. This must be called before the first
  // CUDA call of a method that may run on another thread than the previous one.
  absl::Status MakeCurrent() const;

  // Work queued on `later` from now on starts when all work now queued on
  // `earlier` is done. Both must be streams of this object. Does not wait.
  absl::Status Order(cudaStream_t earlier, cudaStream_t later) const;

  // Work queued on `later`, the stream for compression or copies, from now on
  // runs after all work now queued for layers. Does nothing within an overlap,
  // where CompressAfter sets the order.
  absl::Status OrderAfterLayers(cudaStream_t later) const;
  // Work queued for layers from now on runs after all work now queued for
  // compression. Does nothing within an overlap, where EndOverlap sets the
  // order.
  absl::Status OrderLayersAfterCompression() const;

  // As in Backend.
  absl::Status StartOverlap();
  absl::Status EndOverlap();
  absl::StatusOr<int64_t> Mark();
  absl::Status CompressAfter(int64_t mark) const;

  // Await waits for one stream, AwaitAll for all. Within an overlap AwaitAll is
  // for the compression side and skips the layers' stream: that stream may be
  // recording, during which waiting for it is not allowed. Memory that layers
  // freed before the overlap's marks is no longer in use once compression is
  // done.
  absl::Status Await(cudaStream_t stream) const;
  absl::Status AwaitAll() const;
  // To be called last: also waits for the layers' stream, and continues after a
  // stream has failed, so that no queued work that uses memory is left.
  absl::Status AwaitEnd() const;

 private:
  explicit CudaStreams(int device) : device_(device) {}

  const int device_;
  std::unique_ptr<CudaStream> compute_;
  std::unique_ptr<CudaStream> compression_;
  std::unique_ptr<CudaStream> copies_;
  // Recorded anew each time: a wait refers to the event's state when the wait
  // was queued. Within an overlap only the compression side uses it.
  std::unique_ptr<CudaEvent> event_;
  // Changed only while a single thread is at work; the compression side reads
  // it.
  bool overlap_ = false;
  // One for each mark of an overlap, reused by the next overlap. The lock
  // guards the list, not the events.
  mutable Mutex mu_;
  std::vector<std::unique_ptr<CudaEvent>> marks_ ABSL_GUARDED_BY(mu_);
  size_t num_marks_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_STREAMS_H_
