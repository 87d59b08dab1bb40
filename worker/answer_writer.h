// Writes servers' answers into tensors.
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

// The writer. Not thread-safe.
class AnswerWriter {
 public:
  // `backend` is not owned and must outlive this object.
  explicit AnswerWriter(Backend* backend) : backend_(backend) {}

  // Writes the answer to *values, where element 0 of the slice's bucket is
  // element `begin`. Weights of 8 or 16 bits are copied to a device as they are
  // and widened there. Errors: kDataLoss for an answer without weights; those
  // of the backend.
  absl::Status Write(const SliceAnswer& answer, int64_t begin, Tensor* values);

  // The indices of the last answer if it had only some of the elements,
  // ascending, counted from the slice's begin. Null if it had all of them.
  const std::vector<uint32_t>* changed() const {
    return sparse_ ? &selection_.indices : nullptr;
  }

 private:
  absl::Status WriteDense(const SliceAnswer& answer, Tensor part);
  absl::Status WriteNarrow(const SliceAnswer& answer, Tensor part);
  absl::Status WriteSparse(const SliceAnswer& answer, Tensor part);

  Backend* const backend_;
  std::unique_ptr<DeviceWidener> widener_;  // Created on first use.
  std::vector<float> staging_;              // The host copy of weights.
  Selection selection_;                     // The host copy of a sparse answer.
  bool sparse_ = false;                     // See changed().
};

}  // namespace ps

#endif  // WORKER_ANSWER_WRITER_H_
