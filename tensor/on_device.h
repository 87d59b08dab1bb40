// Objects that only a build with CUDA has: their interfaces can be named
// everywhere, and need no second implementation.
#ifndef TENSOR_ON_DEVICE_H_
#define TENSOR_ON_DEVICE_H_

#include <memory>

#include "glog/logging.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// Set by the .cu file that has the class, before main.
template <class Interface>
inline std::unique_ptr<Interface> (*on_device_factory)(SparseWork*) = nullptr;

// Creates the object for the device whose kernels have `work`, which is not
// owned and outlives it. No other build has such kernels.
template <class Interface>
std::unique_ptr<Interface> NewOnDevice(SparseWork* work) {
  CHECK(work != nullptr && on_device_factory<Interface> != nullptr);
  return on_device_factory<Interface>(work);
}

// Use at the end of that file, in namespace ps: nvcc names the kernels of a
// file in the same way each time only if the file has a symbol that others see.
// `Class` is constructed from a SparseWork*. The library needs `alwayslink =
// 1`.
#define PS_REGISTER_ON_DEVICE(Interface, Class)              \
  bool registered_##Class = [] {                             \
    on_device_factory<Interface> =                           \
        [](SparseWork* work) -> std::unique_ptr<Interface> { \
      return std::make_unique<Class>(work);                  \
    };                                                       \
    return true;                                             \
  }()

}  // namespace ps

#endif  // TENSOR_ON_DEVICE_H_
