// Selected elements of a vector that is in the memory of a device.
#ifndef TENSOR_DEVICE_SELECTION_H_
#define TENSOR_DEVICE_SELECTION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace ps {

// Like Selection, but the device knows the elements, too: in ascending order of
// index. The function that returns one says how long it is valid.
class DeviceSelection {
 public:
  virtual ~DeviceSelection() = default;

  // Sets u[indices[i]] = values[i], in the device's memory; or to 0 if `zeros`,
  // for which nothing is copied to the device. Does not wait; later operations
  // of the backend run after it.
  virtual absl::Status Scatter(bool zeros, float* u) = 0;

  // In the host's memory.
  absl::Span<const uint32_t> indices;
  absl::Span<float> values;
};

}  // namespace ps

#endif  // TENSOR_DEVICE_SELECTION_H_
