// A backend whose layers take and give memory of the host, whatever memory the
// device has: so one test can run on all backends.
#ifndef TESTS_TENSOR_STAGED_BACKEND_H_
#define TESTS_TENSOR_STAGED_BACKEND_H_

#include <memory>

#include "tensor/backend.h"

namespace ps {

// Each call of an operation copies its arguments to the device, calls the
// device's operation, and copies back what it may have written. Arguments that
// are the same memory on the host are the same on the device. Weights begin at
// an odd float there, as those of a model may. Allocate gives memory of the
// host.
std::unique_ptr<Backend> NewStagedBackend(std::unique_ptr<Backend> device);

}  // namespace ps

#endif  // TESTS_TENSOR_STAGED_BACKEND_H_
