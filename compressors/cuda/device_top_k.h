// Finds the k largest magnitudes of a vector and leaves them on a device, in
// one launch; the host waits only for the end of it.
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

// All pointers refer to device memory.
struct DeviceTopKRequest {
  // If not null, u is first set to residual + gradient; u must not overlap
  // either.
  const float* residual = nullptr;
  const float* gradient = nullptr;
  float* u = nullptr;
  int64_t n = 0;  // At least 1.
  int64_t k = 0;  // In [1, n].
  // A guess of a threshold that more than k elements of the sum exceed; affects
  // speed only. Infinity means no guess.
  float keep_above = std::numeric_limits<float>::infinity();
};

struct DeviceTopKResult {
  // Moments of the sum, if it was formed; without the moments' sums.
  Moments moments;
  // Among equal magnitudes, those with the lower index. Empty if an element of
  // the sum is not finite. Valid until the next Run.
  DeviceSelection selection;
  float threshold = 0;  // The smallest magnitude selected.
};

// For use by one thread at a time.
class DeviceTopK {
 public:
  virtual ~DeviceTopK() = default;

  // If no sum is to be formed, all elements must be finite. Allocates device
  // memory for the first vector, and again for a longer one or a larger k: 8 k
  // bytes, and 0.75 n bytes more if a sum is formed with a guess. Errors:
  // kInvalidArgument, kResourceExhausted, or CUDA errors.
  virtual absl::Status Run(const DeviceTopKRequest& request,
                           DeviceTopKResult* result) = 0;
};

// `work` is not owned and must outlive the result. Errors: kResourceExhausted;
// kUnimplemented in a build without the CUDA toolkit, where no kernels have a
// SparseWork.
absl::StatusOr<std::unique_ptr<DeviceTopK>> NewDeviceTopK(SparseWork* work);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_DEVICE_TOP_K_H_
