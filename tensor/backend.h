// A device: its memory, and the kernels that run on it.
#ifndef TENSOR_BACKEND_H_
#define TENSOR_BACKEND_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tensor/nn_kernels.h"
#include "tensor/recording.h"
#include "tensor/sequence_kernels.h"
#include "tensor/sparse_kernels.h"
#include "tensor/tensor.h"
#include "tensor/vector_kernels.h"

namespace ps {

// Replays by doing the work as it was done before.
class WorkAsItIs final : public Recording {
 public:
  explicit WorkAsItIs(std::function<absl::Status()> work)
      : work_(std::move(work)) {}
  absl::Status Replay() override { return work_(); }

 private:
  const std::function<absl::Status()> work_;
};

// One thread at a time uses a backend, except where a method says otherwise.
//
// But between StartOverlap and EndOverlap two threads may use it at once, each
// one side of it. The *compute side* is nn(), sequences() and vectors(), what
// is planned with them, Record() and Mark(). The *compression side* is sparse()
// and its sieves, CopyFromHost, CopyToHost, HostBuffer, CompressAfter() and,
// after a first mark, Allocate. The compute side neither allocates nor plans
// meanwhile, and must not touch what the compression side reads or writes after
// a mark.
class Backend {
 public:
  virtual ~Backend() = default;

  // For logs: "cpu".
  virtual absl::string_view name() const = 0;

  // Zeroed, aligned to at least 64 bytes. Errors: kResourceExhausted.
  virtual absl::StatusOr<Tensor> Allocate(const Shape& shape) = 0;

  // `host` holds tensor->size() elements. Done when the call returns.
  virtual absl::Status CopyFromHost(const float* host, Tensor* tensor) = 0;
  virtual absl::Status CopyToHost(const Tensor& tensor, float* host) = 0;

  // Bytes of the host, not initialised, that CopyToHost fills fastest and that
  // can be sent from where they are; aligned to at least 16. Any thread may
  // drop the last handle, also after the backend's end.
  virtual std::shared_ptr<uint8_t[]> HostBuffer(int64_t size_bytes) {
    return std::shared_ptr<uint8_t[]>(new uint8_t[size_bytes]);
  }

  // Whether compression gains from a thread of its own, since the compute side
  // returns before its work is done.
  virtual bool overlaps_compression() const { return false; }

  // From here on the compression side's operations come after CompressAfter's
  // marks alone, not after all that the compute side has been given before.
  // Both are called by the compute side's thread, while the other one rests;
  // what comes after EndOverlap comes after all that either side was given.
  virtual absl::Status StartOverlap() { return absl::OkStatus(); }
  virtual absl::Status EndOverlap() { return absl::OkStatus(); }

  // A mark behind what the compute side has been given so far; a number, good
  // until EndOverlap.
  virtual absl::StatusOr<int64_t> Mark() { return 0; }
  // What the compression side is given from now on comes after the mark.
  virtual absl::Status CompressAfter(int64_t) { return absl::OkStatus(); }

  // Whether it saves time to record work that comes again.
  virtual bool gains_from_recordings() const { return false; }
  // Records what `work` gives the compute side, and does not do it. `work` must
  // give it nothing else, wait for nothing, plan nothing and allocate nothing;
  // it may be called again later, or not. Errors: those of `work`, or what the
  // device says of work that it cannot record.
  virtual absl::StatusOr<std::unique_ptr<Recording>> Record(
      const std::function<absl::Status()>& work) {
    return std::unique_ptr<Recording>(new WorkAsItIs(work));
  }
  // Another number once recordings hold addresses of the backend's own memory
  // that are no longer good. Planning may do that.
  virtual int64_t memory_version() const { return 0; }

  // All live as long as the backend.
  virtual NnKernels& nn() = 0;
  virtual SequenceKernels& sequences() = 0;
  virtual SparseKernels& sparse() = 0;
  // Of layers, and in their order.
  virtual VectorKernels& vectors() { return sparse(); }
};

struct CpuBackendOptions {
  // Threads of one operation; at least 1. Results do not depend on it in the
  // sparse kernels.
  int num_threads = 1;
};

// In //tensor/cpu:cpu_backend. Errors: kInvalidArgument.
absl::StatusOr<std::unique_ptr<Backend>> NewCpuBackend(
    const CpuBackendOptions& options);

}  // namespace ps

#endif  // TENSOR_BACKEND_H_
