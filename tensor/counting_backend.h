// Counts how much memory is requested from a backend.
#ifndef TENSOR_COUNTING_BACKEND_H_
#define TENSOR_COUNTING_BACKEND_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tensor/backend.h"

namespace ps {

// Plans and computes as another backend, which uses the host's memory, and adds
// up the bytes of its tensors. These take no memory until they are written.
class CountingBackend final : public Backend {
 public:
  // `backend` is not owned and outlives this one.
  explicit CountingBackend(Backend* backend) : backend_(backend) {}

  // The bytes of all tensors so far.
  int64_t bytes() const { return bytes_; }

  absl::string_view name() const override { return backend_->name(); }
  absl::StatusOr<Tensor> Allocate(const Shape& shape) override;
  absl::Status CopyFromHost(const float* host, Tensor* tensor) override {
    return backend_->CopyFromHost(host, tensor);
  }
  absl::Status CopyToHost(const Tensor& tensor, float* host) override {
    return backend_->CopyToHost(tensor, host);
  }
  NnKernels& nn() override { return backend_->nn(); }
  SequenceKernels& sequences() override { return backend_->sequences(); }
  SparseKernels& sparse() override { return backend_->sparse(); }

 private:
  Backend* const backend_;
  int64_t bytes_ = 0;
};

}  // namespace ps

#endif  // TENSOR_COUNTING_BACKEND_H_
