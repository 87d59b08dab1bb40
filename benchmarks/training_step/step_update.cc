#include "benchmarks/training_step/step_update.h"

#include "common/status_macros.h"
#include "optimizers/element_rule.h"
#include "tensor/on_device.h"

namespace ps {

absl::StatusOr<StepUpdate> StepUpdate::Create(int64_t elements, float rate,
                                              Backend* backend) {
  PS_ASSIGN_OR_RETURN(Tensor velocity, backend->Allocate({elements}));
  SparseWork* const work = backend->sparse().device_work();
  return StepUpdate(std::move(velocity), rate,
                    work == nullptr ? nullptr : NewOnDevice<DeviceStep>(work));
}

absl::Status StepUpdate::Step(Tensor* gradient, Tensor* weights) {
  MomentumElement<false> momentum;
  momentum.scale = 1;
  momentum.weight_decay = 0;
  momentum.momentum = 0.9f;
  momentum.entering = 1;
  momentum.rate = rate_;
  StepArrays arrays;
  arrays.gradient = gradient->data();
  arrays.weights = weights->data();
  arrays.states[0] = velocity_.data();
  const int64_t n = gradient->size();
  if (on_device_ != nullptr) return on_device_->Step(momentum, arrays, n);
  StepElements(momentum, arrays, n);
  return absl::OkStatus();
}

}  // namespace ps
