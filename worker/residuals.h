// What a worker keeps back of its gradients, bucket by bucket.
#ifndef WORKER_RESIDUALS_H_
#define WORKER_RESIDUALS_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compressors/payload/payload.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"
#include "transport/shard_map.h"
#include "worker/bucket_plan.h"

namespace ps {

// Not thread-safe.
class Residuals {
 public:
  // All 0. may_return: Sent and PutBack are used. `backend` is not owned and
  // outlives this.
  static absl::StatusOr<std::unique_ptr<Residuals>> Create(
      const std::vector<Bucket>& buckets, bool may_return, Backend* backend);

  // Of one bucket, [its elements].
  Tensor* of(int bucket) { return &tensors_[bucket]; }

  absl::Status Clear(int bucket);

  // The payloads that were sent of a bucket, by slice. The memory is shared.
  void Sent(int bucket, const std::vector<PayloadBuffer>& payloads);

  // What was sent last of this slice has changed nothing, and is kept back
  // after all.
  absl::Status PutBack(const Slice& slice);

  // Euclidean norm of them all. Reads them all.
  absl::StatusOr<double> Norm();

 private:
  Residuals(bool may_return, Backend* backend)
      : may_return_(may_return), backend_(backend) {}

  const bool may_return_;
  Backend* const backend_;
  std::vector<Tensor> tensors_;                   // [bucket]
  std::vector<std::vector<PayloadBuffer>> sent_;  // [bucket][slice]
  std::vector<float> staging_;                    // A part of them on its way.
};

}  // namespace ps

#endif  // WORKER_RESIDUALS_H_
