// A backend whose layers take and return host memory, whatever memory the
// device has, so that one test can run on all backends.
#ifndef TESTS_TENSOR_STAGED_BACKEND_H_
#define TESTS_TENSOR_STAGED_BACKEND_H_

#include <memory>

#include "tensor/backend.h"

namespace ps {

// Each call of an operation copies its arguments to the device, calls the
// device's operation, and copies back the arguments that it may have written.
// Arguments that are the same memory on the host are the same on the device.
// Weights begin at an odd float there, as those of a model may. Allocate
// returns host memory.
std::unique_ptr<Backend> NewStagedBackend(std::unique_ptr<Backend> device);

}  // namespace ps

#endif  // TESTS_TENSOR_STAGED_BACKEND_H_
