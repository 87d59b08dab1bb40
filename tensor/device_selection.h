// Selected elements that stay where the vector is.
#ifndef TENSOR_DEVICE_SELECTION_H_
#define TENSOR_DEVICE_SELECTION_H_

#include <cstdint>

namespace ps {

// As Selection, in the memory of a device: elements of a vector in ascending
// order of index. Whoever made it says how long it lives.
struct DeviceSelection {
  const uint32_t* indices = nullptr;  // [count]
  float* values = nullptr;            // [count]
  int64_t count = 0;
};

}  // namespace ps

#endif  // TENSOR_DEVICE_SELECTION_H_
