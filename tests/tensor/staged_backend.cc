#include "tests/tensor/staged_backend.h"

#include <utility>

#include "tests/tensor/staged_nn_kernels.h"
#include "tests/tensor/staged_sequence_kernels.h"

namespace ps {
namespace {

class StagedBackend final : public Backend {
 public:
  explicit StagedBackend(std::unique_ptr<Backend> device)
      : device_(std::move(device)),
        nn_(NewStagedNnKernels(device_.get())),
        sequences_(NewStagedSequenceKernels(device_.get())),
        host_(NewCpuBackend(CpuBackendOptions()).value()) {}

  absl::string_view name() const override { return device_->name(); }

  absl::StatusOr<Tensor> Allocate(const Shape& shape) override {
    return host_->Allocate(shape);
  }
  absl::Status CopyFromHost(const float* host, Tensor* tensor) override {
    return host_->CopyFromHost(host, tensor);
  }
  absl::Status CopyToHost(const Tensor& tensor, float* host) override {
    return host_->CopyToHost(tensor, host);
  }

  NnKernels& nn() override { return *nn_; }
  SequenceKernels& sequences() override { return *sequences_; }
  SparseKernels& sparse() override { return host_->sparse(); }

 private:
  const std::unique_ptr<Backend> device_;
  const std::unique_ptr<NnKernels> nn_;
  const std::unique_ptr<SequenceKernels> sequences_;
  const std::unique_ptr<Backend> host_;
};

}  // namespace

std::unique_ptr<Backend> NewStagedBackend(std::unique_ptr<Backend> device) {
  return std::make_unique<StagedBackend>(std::move(device));
}

}  // namespace ps
