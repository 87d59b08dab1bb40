// Selected elements in the memory of the vector they come from.
#ifndef TENSOR_DEVICE_SELECTION_H_
#define TENSOR_DEVICE_SELECTION_H_

#include <cstdint>

namespace ps {

// Like Selection, but in the memory of a device: elements of a vector in
// ascending order of index. The function that returns one says how long it is
// valid.
struct DeviceSelection {
  const uint32_t* indices = nullptr;  // [count]
  float* values = nullptr;            // [count]
  int64_t count = 0;
};

}  // namespace ps

#endif  // TENSOR_DEVICE_SELECTION_H_
