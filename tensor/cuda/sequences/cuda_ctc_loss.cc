// The CTC loss for models on CUDA. The lattice is computed on the host: logits
// are copied there, and their gradient is copied back. Run waits for the
// device.

#include <cstdint>
#include <memory>
#include <utility>

#include "common/status_macros.h"
#include "tensor/cpu/cpu_ctc_loss.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/sequences/cuda_sequence_kernels.h"

namespace ps {
namespace {

class CudaCtcLoss final : public CtcLossOp {
 public:
  CudaCtcLoss(LayerDevice* device, int64_t size_bytes,
              std::unique_ptr<CtcLossOp> host)
      : device_(device), size_bytes_(size_bytes), host_(std::move(host)) {}

  absl::Status Allocate() {
    PS_ASSIGN_OR_RETURN(logits_, device_->AllocateHost(size_bytes_));
    PS_ASSIGN_OR_RETURN(gradient_, device_->AllocateHost(size_bytes_));
    return absl::OkStatus();
  }

  absl::StatusOr<double> Run(const float* logits, const CtcTargets& targets,
                             float* dlogits) override {
    // Also waits for the latest copy out of gradient_.
    PS_RETURN_IF_ERROR(device_->CopyToHost(logits, size_bytes_, logits_.get()));
    float* const gradient =
        dlogits == nullptr ? nullptr : static_cast<float*>(gradient_.get());
    PS_ASSIGN_OR_RETURN(const double loss,
                        host_->Run(static_cast<const float*>(logits_.get()),
                                   targets, gradient));
    if (gradient != nullptr) {
      PS_RETURN_IF_ERROR(device_->CopyFromHost(gradient, size_bytes_, dlogits));
    }
    return loss;
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const int64_t size_bytes_;   // Size of the logits.
  const std::unique_ptr<CtcLossOp> host_;
  std::shared_ptr<void> logits_;
  std::shared_ptr<void> gradient_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CtcLossOp>> CudaSequenceKernels::PlanCtcLoss(
    const ActivationDesc& logits) {
  PS_ASSIGN_OR_RETURN(auto host, PlanCpuCtcLoss(&pool_, logits));
  auto op = std::make_unique<CudaCtcLoss>(
      device(), logits.num_floats * static_cast<int64_t>(sizeof(float)),
      std::move(host));
  PS_RETURN_IF_ERROR(op->Allocate());
  return op;
}

}  // namespace ps
