// Updates by SGD with momentum, on the device where the weights are.
#ifndef BENCHMARKS_TRAINING_STEP_STEP_UPDATE_H_
#define BENCHMARKS_TRAINING_STEP_STEP_UPDATE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "optimizers/cuda/device_step.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

// Computes velocity = 0.9 velocity + gradient; weights -= rate velocity, in one
// pass, as a worker's own optimizer does. Not thread-safe.
class StepUpdate {
 public:
  // `backend` is not owned and outlives this.
  static absl::StatusOr<StepUpdate> Create(int64_t elements, float rate,
                                           Backend* backend);

  // Overwrites the gradient.
  absl::Status Step(Tensor* gradient, Tensor* weights);

 private:
  StepUpdate(Tensor velocity, float rate, std::unique_ptr<DeviceStep> on_device)
      : velocity_(std::move(velocity)),
        rate_(rate),
        on_device_(std::move(on_device)) {}

  Tensor velocity_;
  float rate_;
  std::unique_ptr<DeviceStep> on_device_;  // Null on the CPU.
};

}  // namespace ps

#endif  // BENCHMARKS_TRAINING_STEP_STEP_UPDATE_H_
