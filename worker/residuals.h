// Keeps the residuals of a worker, bucket by bucket: the part of its gradients
// that it has not sent yet.
#ifndef WORKER_RESIDUALS_H_
#define WORKER_RESIDUALS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compressors/payload/payload.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"
#include "transport/shard_map.h"
#include "worker/bucket_plan.h"

namespace ps {

// The part of a worker's snapshot (worker/saved_worker.h) that Save writes.
constexpr char kResidualsPart[] = "residuals";

// Not thread-safe.
class Residuals {
 public:
  // All residuals start as 0. may_return says whether Sent and PutBack are
  // used. `backend` is not owned and must outlive this object.
  static absl::StatusOr<std::unique_ptr<Residuals>> Create(
      const std::vector<Bucket>& buckets, bool may_return, Backend* backend);

  // Returns the residual of one bucket: [size of the bucket].
  Tensor* of(int bucket) { return &tensors_[bucket]; }

  absl::Status Clear(int bucket);
  absl::Status Clear();  // Clears all of them.

  // Adds elements of all buckets: [parameters].
  absl::Status Add(const Tensor& values);

  // Keeps the payloads that were sent for a bucket, by slice. Shares their
  // memory.
  void Sent(int bucket, const std::vector<PayloadBuffer>& payloads);

  // Adds the last payload of this slice, which was late, back to the residual.
  absl::Status PutBack(const Slice& slice);

  // For checkpoints: the part kResidualsPart. Must not be used while a payload
  // may still be put back. Errors of Load: kDataLoss for residuals of other
  // buckets.
  absl::StatusOr<std::string> Save() const;
  absl::Status Load(absl::string_view saved);

  // Returns the Euclidean norm over all buckets. Costs a pass over memory.
  absl::StatusOr<double> Norm() const;

 private:
  Residuals(bool may_return, Backend* backend)
      : may_return_(may_return), backend_(backend) {}

  const bool may_return_;
  Backend* const backend_;
  std::vector<int64_t> begins_;                   // [bucket]
  std::vector<Tensor> tensors_;                   // [bucket]
  std::vector<std::vector<PayloadBuffer>> sent_;  // [bucket][slice]
  std::vector<float> staging_;                    // The host copy of a part.
};

}  // namespace ps

#endif  // WORKER_RESIDUALS_H_
