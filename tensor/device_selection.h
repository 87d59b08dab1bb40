// Describes selected elements in the memory of the vector they come from.
#ifndef TENSOR_DEVICE_SELECTION_H_
#define TENSOR_DEVICE_SELECTION_H_

#include <cstdint>

namespace ps {

// Like Selection, but in the memory of a device: elements of a vector in
// ascending order of index. The function that returns one says how long it is
// valid.
struct DeviceSelection {
  const uint32_t* indices = nullptr;  // [capacity]
  float* values = nullptr;            // [capacity]
  int64_t capacity = 0;
  // The number of elements, if the host knows it: if device_count is null.
  int64_t count = 0;
  // The number of elements, at most `capacity`, in the device's memory. It is
  // set by queued work, so that later work on the same stream can read it.
  const int64_t* device_count = nullptr;
};

}  // namespace ps

#endif  // TENSOR_DEVICE_SELECTION_H_
