#include "benchmarks/training_step/step_update.h"

#include <utility>

#include "common/status_macros.h"
#include "optimizers/optimizer.h"

namespace ps {
namespace {

constexpr float kMomentum = 0.9f;

class HostUpdate final : public StepUpdate {
 public:
  HostUpdate(std::unique_ptr<Optimizer> optimizer, float rate)
      : optimizer_(std::move(optimizer)) {
    info_.learning_rate = rate;
  }

  absl::Status Step(const Tensor& gradient, Tensor* weights) override {
    optimizer_->Step(info_, 0, gradient.size(), gradient.data(),
                     weights->data());
    ++info_.update;
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<Optimizer> optimizer_;
  UpdateInfo info_;
};

class DeviceUpdate final : public StepUpdate {
 public:
  DeviceUpdate(VectorKernels* kernels, Tensor velocity, float rate)
      : kernels_(kernels), velocity_(std::move(velocity)), rate_(rate) {}

  absl::Status Step(const Tensor& gradient, Tensor* weights) override {
    const int64_t n = gradient.size();
    float* const velocity = velocity_.data();
    PS_RETURN_IF_ERROR(kernels_->AddScaled({velocity, kMomentum},
                                           {gradient.data(), 1}, n, velocity));
    return kernels_->AddScaled({weights->data(), 1}, {velocity, -rate_}, n,
                               weights->data());
  }

 private:
  VectorKernels* const kernels_;  // Not owned.
  Tensor velocity_;
  const float rate_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StepUpdate>> NewStepUpdate(int64_t elements,
                                                          float rate,
                                                          Backend* backend) {
  if (backend->sparse().device_work() == nullptr) {
    OptimizerOptions momentum;
    momentum.config.set_name("momentum");
    momentum.config.set_momentum(kMomentum);
    momentum.num_elements = elements;
    PS_ASSIGN_OR_RETURN(std::unique_ptr<Optimizer> optimizer,
                        NewOptimizer(momentum));
    return std::make_unique<HostUpdate>(std::move(optimizer), rate);
  }
  PS_ASSIGN_OR_RETURN(Tensor velocity, backend->Allocate({elements}));
  return std::make_unique<DeviceUpdate>(&backend->vectors(),
                                        std::move(velocity), rate);
}

}  // namespace ps
