// Counts how much memory is requested from a backend.
#ifndef BENCHMARKS_MODEL_MEMORY_COUNTING_BACKEND_H_
#define BENCHMARKS_MODEL_MEMORY_COUNTING_BACKEND_H_

#include <cstdint>
#include <memory>

#include "tensor/backend.h"

namespace ps {

// Forwards all calls to another backend and adds up the bytes that it
// allocates.
class CountingBackend final : public Backend {
 public:
  // `backend` is not owned and outlives this one.
  explicit CountingBackend(Backend* backend) : backend_(backend) {}

  int64_t bytes() const { return bytes_; }

  absl::string_view name() const override { return backend_->name(); }
  absl::StatusOr<Tensor> Allocate(const Shape& shape) override {
    bytes_ += NumElements(shape) * static_cast<int64_t>(sizeof(float));
    return backend_->Allocate(shape);
  }
  absl::Status CopyFromHost(const float* host, Tensor* tensor) override {
    return backend_->CopyFromHost(host, tensor);
  }
  absl::Status CopyToHost(const Tensor& tensor, float* host) override {
    return backend_->CopyToHost(tensor, host);
  }
  std::shared_ptr<uint8_t[]> HostBuffer(int64_t size_bytes) override {
    return backend_->HostBuffer(size_bytes);
  }
  NnKernels& nn() override { return backend_->nn(); }
  SequenceKernels& sequences() override { return backend_->sequences(); }
  SparseKernels& sparse() override { return backend_->sparse(); }

 private:
  Backend* const backend_;
  int64_t bytes_ = 0;
};

}  // namespace ps

#endif  // BENCHMARKS_MODEL_MEMORY_COUNTING_BACKEND_H_
