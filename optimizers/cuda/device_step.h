// Steps of a worker's own optimizer on a device.
#ifndef OPTIMIZERS_CUDA_DEVICE_STEP_H_
#define OPTIMIZERS_CUDA_DEVICE_STEP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "optimizers/element_rule.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// Like StepElements, with the same bits, for arrays in the memory of the device
// whose kernels have `work`. Does not wait; later operations of the compression
// side run after it. Errors: kUnimplemented in a build without the CUDA
// toolkit, where no kernels have a SparseWork; CUDA errors.
absl::Status StepElementsOnDevice(const ElementRule& rule,
                                  const StepArrays& arrays, int64_t n,
                                  SparseWork* work);

}  // namespace ps

#endif  // OPTIMIZERS_CUDA_DEVICE_STEP_H_
