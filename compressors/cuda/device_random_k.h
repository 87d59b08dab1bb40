// Elements of a vector at random, taken and left on a device: one launch, and
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

// Pointers are to the device's memory.
struct DeviceRandomKRequest {
  // u = residual + gradient is formed; u overlaps neither.
  const float* residual = nullptr;
  const float* gradient = nullptr;
  float* u = nullptr;
  int64_t n = 0;     // At least 1.
  int64_t k = 0;     // In [1, n].
  uint64_t key = 0;  // Of the stream from which DrawSubset would draw.
};

struct DeviceRandomKResult {
  Moments moments;  // Without the sums.
  // Where DrawSubset says; nothing if an element is not finite. Valid until the
  // next Run.
  DeviceSelection selection;
};

// One thread at a time.
class DeviceRandomK {
 public:
  virtual ~DeviceRandomK() = default;

  // Takes memory with the first vector, and again with a longer one or a larger
  // k: n / 8 bytes and 8 k. Errors: kInvalidArgument, kResourceExhausted, or
  // CUDA's.
  virtual absl::Status Run(const DeviceRandomKRequest& request,
                           DeviceRandomKResult* result) = 0;
};

// `work` is not owned and outlives this. Errors: kResourceExhausted;
// kUnimplemented without the toolkit, where no kernels have a SparseWork.
absl::StatusOr<std::unique_ptr<DeviceRandomK>> NewDeviceRandomK(
    SparseWork* work);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_DEVICE_RANDOM_K_H_
