// Finds a threshold by counts or from a sample, and selects above it on a
// device, in one launch; the host waits only for the end of it.
#ifndef COMPRESSORS_CUDA_DEVICE_THRESHOLD_H_
#define COMPRESSORS_CUDA_DEVICE_THRESHOLD_H_

#include <cstdint>
#include <limits>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compressors/selectors/threshold_search.h"
#include "tensor/device_selection.h"
#include "tensor/moments.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// The threshold is the k-th largest magnitude of a sample drawn without
// replacement.
struct SampleRule {
  uint64_t key = 0;  // The key of DrawSubset's random stream.
  int64_t size = 0;  // In [1, n].
  int64_t k = 0;     // In [1, size]; 0: there is no sample.
};

// All pointers refer to device memory.
struct DeviceThresholdRequest {
  // u is set to residual + gradient; it must not overlap either.
  const float* residual = nullptr;
  const float* gradient = nullptr;
  float* u = nullptr;
  int64_t n = 0;  // At least 1; for a normal law at least 2.
  ThresholdRule rule;
  SampleRule sample;  // Replaces rule.threshold; the rule is kFixed.
  // A guess of the lowest threshold that will be tried; affects speed only.
  // Infinity means no guess.
  float keep_above = std::numeric_limits<float>::infinity();
  // The maximum number of elements left on the device; at least 1.
  int64_t capacity = 0;
};

struct DeviceThresholdResult {
  Moments moments;  // With sums if rule.NeedsSums().
  // The fields from here on are valid if all elements are finite.
  float threshold = 0;
  int64_t num_selected = 0;  // Elements above the threshold.
  // The selected elements, if there are no more than `capacity`. Valid until
  // the next Run.
  DeviceSelection selection;
};

// The results are bitwise equal to the CPU's. For use by one thread at a time.
class DeviceThreshold {
 public:
  virtual ~DeviceThreshold() = default;

  // Allocates device memory for the first vector, and again for a longer one or
  // a larger capacity: 0.75 n + 8 capacity bytes, and n / 8 + 4 size bytes more
  // for a sample. Errors: kInvalidArgument, kResourceExhausted, or CUDA errors.
  virtual absl::Status Run(const DeviceThresholdRequest& request,
                           DeviceThresholdResult* result) = 0;
};

// `work` is not owned and must outlive the result. Errors: kResourceExhausted;
// kUnimplemented in a build without the CUDA toolkit, where no kernels have a
// SparseWork.
absl::StatusOr<std::unique_ptr<DeviceThreshold>> NewDeviceThreshold(
    SparseWork* work);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_DEVICE_THRESHOLD_H_
