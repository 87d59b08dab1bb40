// Updates by SGD with momentum, on the device where the weights are.
#ifndef BENCHMARKS_TRAINING_STEP_STEP_UPDATE_H_
#define BENCHMARKS_TRAINING_STEP_STEP_UPDATE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

// Computes velocity = 0.9 velocity + gradient; weights -= rate velocity. Not
// thread-safe.
class StepUpdate {
 public:
  virtual ~StepUpdate() = default;
  virtual absl::Status Step(const Tensor& gradient, Tensor* weights) = 0;
};

// Creates an update. Uses the server's optimizer on the CPU, and two passes of
// the backend's kernels on a device, whose memory the optimizer cannot access.
// `backend` is not owned and outlives this.
absl::StatusOr<std::unique_ptr<StepUpdate>> NewStepUpdate(int64_t elements,
                                                          float rate,
                                                          Backend* backend);

}  // namespace ps

#endif  // BENCHMARKS_TRAINING_STEP_STEP_UPDATE_H_
