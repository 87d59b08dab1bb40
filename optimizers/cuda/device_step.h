// Steps of a worker's own optimizer on a device.
#ifndef OPTIMIZERS_CUDA_DEVICE_STEP_H_
#define OPTIMIZERS_CUDA_DEVICE_STEP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "optimizers/element_rule.h"
#include "tensor/on_device.h"

namespace ps {

// Made by NewOnDevice.
class DeviceStep {
 public:
  virtual ~DeviceStep() = default;

  // Like StepElements, for arrays in the device's memory, whose products and
  // sums may be rounded once where the host rounds twice. Does not wait; later
  // operations of the compression side run after it. Errors: CUDA's.
  virtual absl::Status Step(const ElementRule& rule, const StepArrays& arrays,
                            int64_t n) = 0;
};

}  // namespace ps

#endif  // OPTIMIZERS_CUDA_DEVICE_STEP_H_
