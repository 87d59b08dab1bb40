// A backend's three queues of work on one device, and their order.
//
// Includes CUDA's headers: only for libraries that exist where there is a
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

// A stream that waits for no other, not even for the default one.
class CudaStream {
 public:
  // On the current device.
  static absl::StatusOr<std::unique_ptr<CudaStream>> Create();
  // What is queued is still done.
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  explicit CudaStream(cudaStream_t stream) : stream_(stream) {}

  const cudaStream_t stream_;
};

// A point in a stream's queue; takes no times.
class CudaEvent {
 public:
  // On the current device.
  static absl::StatusOr<std::unique_ptr<CudaEvent>> Create();
  ~CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  cudaEvent_t get() const { return event_; }

 private:
  explicit CudaEvent(cudaEvent_t event) : event_(event) {}

  const cudaEvent_t event_;
};

// One thread at a time; while the backend's two sides overlap
// (tensor/backend.h) the compute side may call Mark(), and each side the other
// const methods with streams of its own.
class CudaStreams {
 public:
  // Errors: kInvalidArgument for a device that is not there, or CUDA's.
  static absl::StatusOr<std::unique_ptr<CudaStreams>> Create(int device);

  int device() const { return device_; }
  // Layers.
  cudaStream_t compute() const { return compute_->get(); }
  // Compressors, and what servers sent.
  cudaStream_t compression() const { return compression_->get(); }
  // Between host and device.
  cudaStream_t copies() const { return copies_->get(); }

  // CUDA's current device belongs to each thread: to be called before the first
  // call of a method that may run on another thread than the last one.
  absl::Status MakeCurrent() const;

  // What is queued on `later` from now on starts when all that is queued on
  // `earlier` by now is done. Both are streams of this object. Does not wait.
  absl::Status Order(cudaStream_t earlier, cudaStream_t later) const;

  // What compression or copies are given from now on comes after what layers
  // have been given by now; within an overlap after CompressAfter's marks.
  absl::Status OrderAfterLayers(cudaStream_t later) const;
  // What layers are given from now on comes after what compression has been
  // given; within an overlap EndOverlap sees to that.
  absl::Status OrderLayersAfterCompression() const;

  // As in Backend.
  absl::Status StartOverlap();
  absl::Status EndOverlap();
  absl::StatusOr<int64_t> Mark();
  absl::Status CompressAfter(int64_t mark) const;

  // Waits for a stream, and for all. Within an overlap the latter is for the
  // compression side, and leaves the layers' stream alone: it may be recording,
  // when nobody may wait for it, and what layers gave back before the overlap's
  // marks is done with when compression is.
  absl::Status Await(cudaStream_t stream) const;
  absl::Status AwaitAll() const;
  // For the last call: also for the layers' stream, and for the others where
  // one has failed, so that nothing queued is left that uses memory.
  absl::Status AwaitEnd() const;

 private:
  explicit CudaStreams(int device) : device_(device) {}

  const int device_;
  std::unique_ptr<CudaStream> compute_;
  std::unique_ptr<CudaStream> compression_;
  std::unique_ptr<CudaStream> copies_;
  // Recorded anew each time: a wait is for what an event was when the wait was
  // queued. Within an overlap the compression side's alone.
  std::unique_ptr<CudaEvent> event_;
  // Set while only one thread is at work; the compression side reads it.
  bool overlap_ = false;
  // One for each mark of an overlap, kept for the next. The lock is for the
  // list, not for the events.
  mutable Mutex mu_;
  std::vector<std::unique_ptr<CudaEvent>> marks_ ABSL_GUARDED_BY(mu_);
  size_t num_marks_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_STREAMS_H_
