// The interface of a device: its memory, and the kernels that run on it.
#ifndef TENSOR_BACKEND_H_
#define TENSOR_BACKEND_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tensor/input_upload.h"
#include "tensor/nn_kernels.h"
#include "tensor/recording.h"
#include "tensor/sequence_kernels.h"
#include "tensor/sparse_kernels.h"
#include "tensor/tensor.h"
#include "tensor/vector_kernels.h"

namespace ps {

// Repeats the work by calling it again.
class WorkAsItIs final : public Recording {
 public:
  explicit WorkAsItIs(std::function<absl::Status()> work)
      : work_(std::move(work)) {}
  absl::Status Replay() override { return work_(); }

 private:
  const std::function<absl::Status()> work_;
};

// A device. A backend is used by one thread at a time, except where a method
// says otherwise.
//
// However, between StartOverlap and EndOverlap two threads may use it at once,
// one on each side. The *compute side* is nn(), sequences() and vectors(),
// everything planned with them, input uploads, Record() and Mark(). The
// *compression side* is sparse() and its sieves, CopyFromHost, CopyToHost,
// CompressAfter() and, after the first mark, Allocate. During this time the
// compute side must neither allocate nor plan, and must not touch memory that
// the compression side reads or writes after a mark.
class Backend {
 public:
  virtual ~Backend() = default;

  // The name for logs: "cpu".
  virtual absl::string_view name() const = 0;

  // Returns a tensor. The elements are zero, and aligned to at least 64 bytes.
  // Errors: kResourceExhausted.
  virtual absl::StatusOr<Tensor> Allocate(const Shape& shape) = 0;

  // Whether operations compute with threads of the host; UseThreads then sets
  // their number, at least 1, on which the results depend. No plan may exist
  // yet.
  virtual bool uses_threads() const { return false; }
  virtual void UseThreads(int) {}

  // Copies tensor->size() elements from `host`. The copy is complete when the
  // call returns.
  virtual absl::Status CopyFromHost(const float* host, Tensor* tensor) = 0;
  virtual absl::Status CopyToHost(const Tensor& tensor, float* host) = 0;

  // Whether compression gains from a thread of its own, because the compute
  // side returns before its work is done.
  virtual bool overlaps_compression() const { return false; }

  // From here on the compression side's operations wait only for the marks
  // given to CompressAfter, and no longer for all earlier work of the compute
  // side. The compute side's thread calls both methods while the other thread
  // is idle. Work given after EndOverlap runs after all work given to either
  // side before it.
  virtual absl::Status StartOverlap() { return absl::OkStatus(); }
  virtual absl::Status EndOverlap() { return absl::OkStatus(); }

  // Marks the end of the work given to the compute side so far. Returns the
  // mark's number, which is valid until EndOverlap.
  virtual absl::StatusOr<int64_t> Mark() { return 0; }
  // Makes later work of the compression side run after the mark.
  virtual absl::Status CompressAfter(int64_t) { return absl::OkStatus(); }

  // Creates an upload for inputs of layers. Null if nothing is gained, and
  // CopyFromHost is as fast.
  virtual absl::StatusOr<std::unique_ptr<InputUpload>> NewInputUpload() {
    return std::unique_ptr<InputUpload>();
  }

  // Whether recording repeated work saves time.
  virtual bool gains_from_recordings() const { return false; }
  // Records the work that `work` gives to the compute side, without running it.
  // `work` must give it nothing else, wait for nothing, plan nothing and
  // allocate nothing. It may be called again later, or never. Errors: those of
  // `work`, or the device's error for work that it cannot record.
  virtual absl::StatusOr<std::unique_ptr<Recording>> Record(
      const std::function<absl::Status()>& work) {
    return std::unique_ptr<Recording>(new WorkAsItIs(work));
  }
  // A number that changes when existing recordings may hold addresses of the
  // backend's own memory that are no longer valid. Planning can cause this.
  virtual int64_t memory_version() const { return 0; }

  // The kernels live as long as the backend.
  virtual NnKernels& nn() = 0;
  virtual SequenceKernels& sequences() = 0;
  virtual SparseKernels& sparse() = 0;
  // Kernels for layers, which run in order with nn() and sequences().
  virtual VectorKernels& vectors() { return sparse(); }
};

struct CpuBackendOptions {
  // The number of threads used by one operation; at least 1. The results of the
  // sparse kernels do not depend on it.
  int num_threads = 1;
};

// Creates the CPU's backend. Defined in //tensor/cpu. Errors: kInvalidArgument.
absl::StatusOr<std::unique_ptr<Backend>> NewCpuBackend(
    const CpuBackendOptions& options);

// Creates a backend without layers, for compressors; nn() and sequences() end
// the process. Defined in //tensor/cpu:compressor_backend. Errors:
// kInvalidArgument.
absl::StatusOr<std::unique_ptr<Backend>> NewCpuCompressorBackend(
    const CpuBackendOptions& options);

}  // namespace ps

#endif  // TENSOR_BACKEND_H_
