// Takes random elements of a vector and leaves them on a device, in one launch;
// the host waits only for the end of it.
#ifndef COMPRESSORS_CUDA_DEVICE_RANDOM_K_H_
#define COMPRESSORS_CUDA_DEVICE_RANDOM_K_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/device_selection.h"
#include "tensor/moments.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// All pointers refer to device memory.
struct DeviceRandomKRequest {
  // u is set to residual + gradient; it must not overlap either.
  const float* residual = nullptr;
  const float* gradient = nullptr;
  float* u = nullptr;
  int64_t n = 0;     // At least 1.
  int64_t k = 0;     // In [1, n].
  uint64_t key = 0;  // The key of DrawSubset's random stream.
};

struct DeviceRandomKResult {
  Moments moments;  // Without the sums.
  // The elements that DrawSubset draws; empty if an element is not finite.
  // Valid until the next Run.
  DeviceSelection selection;
};

// For use by one thread at a time.
class DeviceRandomK {
 public:
  virtual ~DeviceRandomK() = default;

  // Allocates device memory for the first vector, and again for a longer one or
  // a larger k: n / 8 + 8 k bytes. Errors: kInvalidArgument,
  // kResourceExhausted, or CUDA errors.
  virtual absl::Status Run(const DeviceRandomKRequest& request,
                           DeviceRandomKResult* result) = 0;
};

// `work` is not owned and must outlive the result. Errors: kResourceExhausted;
// kUnimplemented in a build without the CUDA toolkit, where no kernels have a
// SparseWork.
absl::StatusOr<std::unique_ptr<DeviceRandomK>> NewDeviceRandomK(
    SparseWork* work);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_DEVICE_RANDOM_K_H_
