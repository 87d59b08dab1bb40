// The k largest magnitudes of a vector, found and left on a device: one launch,
// and the host waits only for the end of it.
#ifndef COMPRESSORS_CUDA_DEVICE_TOP_K_H_
#define COMPRESSORS_CUDA_DEVICE_TOP_K_H_

#include <cstdint>
#include <limits>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/device_selection.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// Pointers are to the device's memory.
struct DeviceTopKRequest {
  // If not null, u = residual + gradient is formed first; u overlaps neither.
  const float* residual = nullptr;
  const float* gradient = nullptr;
  float* u = nullptr;
  int64_t n = 0;  // At least 1.
  int64_t k = 0;  // In [1, n].
  // A guess of what more than k elements of the sum exceed, which shows in the
  // time alone. Infinity: none.
  float keep_above = std::numeric_limits<float>::infinity();
};

struct DeviceTopKResult {
  // Of the sum, if it was formed; without the sums.
  Moments moments;
  // Of equal magnitudes those with the lower index. Nothing if an element of
  // the sum is not finite. Valid until the next Run.
  DeviceSelection selection;
  float threshold = 0;  // The smallest magnitude selected.
};

// One thread at a time.
class DeviceTopK {
 public:
  virtual ~DeviceTopK() = default;

  // Without a sum to form, all elements are finite. Takes memory with the first
  // vector, and again with a longer one or a larger k: 8 k bytes, and 0.75 n
  // if a sum is formed with a guess. Errors: kInvalidArgument,
  // kResourceExhausted, or CUDA's.
  virtual absl::Status Run(const DeviceTopKRequest& request,
                           DeviceTopKResult* result) = 0;
};

// `work` is not owned and outlives this. Errors: kResourceExhausted;
// kUnimplemented without the toolkit, where no kernels have a SparseWork.
absl::StatusOr<std::unique_ptr<DeviceTopK>> NewDeviceTopK(SparseWork* work);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_DEVICE_TOP_K_H_
