// Writes what servers answer into tensors.
#ifndef WORKER_ANSWER_WRITER_H_
#define WORKER_ANSWER_WRITER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "compressors/compressor.h"
#include "compressors/cuda/device_widener.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"
#include "transport/parameter_client.h"

namespace ps {

// Not thread-safe.
class AnswerWriter {
 public:
  // `backend` is not owned and outlives this.
  explicit AnswerWriter(Backend* backend) : backend_(backend) {}

  // Element 0 of the slice's bucket is element `begin` of *values. Errors:
  // kDataLoss for an answer without weights, or the backend's. Weights of 16
  // bits go to a device as they are.
  absl::Status Write(const SliceAnswer& answer, int64_t begin, Tensor* values);

 private:
  absl::Status WriteDense(const SliceAnswer& answer, Tensor part);
  absl::Status WriteNarrow(const SliceAnswer& answer, Tensor part);
  absl::Status WriteSparse(const SliceAnswer& answer, Tensor part);

  Backend* const backend_;
  std::unique_ptr<DeviceWidener> widener_;  // Once it is used.
  std::vector<float> staging_;              // A slice's weights on their way.
  Selection selection_;                     // Likewise, some of them.
};

}  // namespace ps

#endif  // WORKER_ANSWER_WRITER_H_
