#include "tests/tensor/cuda/layers/device_backend.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "common/status_macros.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/cuda/sequences/cuda_sequence_kernels.h"
#include "tests/tensor/cuda/layers/device_sparse_kernels.h"

namespace ps {
namespace {

class DeviceBackend final : public Backend {
 public:
  DeviceBackend(std::string name, std::shared_ptr<LayerDevice> device,
                int num_threads, RecordFunction record)
      : name_(std::move(name)),
        device_(std::move(device)),
        record_(std::move(record)),
        nn_(NewNnKernelsOn(device_)),
        sequences_(NewSequenceKernelsOn(device_, num_threads)),
        sparse_(NewDeviceSparseKernels(device_.get())) {}

  absl::string_view name() const override { return name_; }

  absl::StatusOr<Tensor> Allocate(const Shape& shape) override {
    PS_ASSIGN_OR_RETURN(std::shared_ptr<void> memory,
                        device_->Allocate(SizeBytes(NumElements(shape))));
    float* const data = static_cast<float*>(memory.get());
    return Tensor(std::shared_ptr<float>(std::move(memory), data), shape);
  }

  absl::Status CopyFromHost(const float* host, Tensor* tensor) override {
    if (tensor->size() == 0) return absl::OkStatus();  // `host` may be null.
    const int64_t size_bytes = SizeBytes(tensor->size());
    PS_ASSIGN_OR_RETURN(const std::shared_ptr<void> staged,
                        device_->AllocateHost(size_bytes));
    std::memcpy(staged.get(), host, static_cast<size_t>(size_bytes));
    PS_RETURN_IF_ERROR(
        device_->CopyFromHost(staged.get(), size_bytes, tensor->data()));
    // Waits for the copy, before its source is freed.
    return device_->CopyToHost(tensor->data(), size_bytes, staged.get());
  }

  absl::Status CopyToHost(const Tensor& tensor, float* host) override {
    if (tensor.size() == 0) return absl::OkStatus();
    return device_->CopyToHost(tensor.data(), SizeBytes(tensor.size()), host);
  }

  absl::StatusOr<std::unique_ptr<Recording>> Record(
      const std::function<absl::Status()>& work) override {
    return record_(work);
  }
  int64_t memory_version() const override { return device_->scratch_version(); }

  NnKernels& nn() override { return *nn_; }
  SequenceKernels& sequences() override { return *sequences_; }
  SparseKernels& sparse() override { return *sparse_; }

 private:
  static int64_t SizeBytes(int64_t floats) {
    return floats * static_cast<int64_t>(sizeof(float));
  }

  const std::string name_;
  const std::shared_ptr<LayerDevice> device_;
  const RecordFunction record_;
  const std::unique_ptr<NnKernels> nn_;
  const std::unique_ptr<SequenceKernels> sequences_;
  const std::unique_ptr<SparseKernels> sparse_;
};

}  // namespace

std::unique_ptr<Backend> NewDeviceBackend(std::string name,
                                          std::shared_ptr<LayerDevice> device,
                                          int num_threads,
                                          RecordFunction record) {
  return std::make_unique<DeviceBackend>(std::move(name), std::move(device),
                                         num_threads, std::move(record));
}

}  // namespace ps
