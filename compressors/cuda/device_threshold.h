// A threshold by counts or by a sample, and what exceeds it, found and left on
// a device: one launch, and the host waits only for the end of it.
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

// The k-th largest magnitude of a sample without replacement.
struct SampleRule {
  uint64_t key = 0;  // Of the stream from which DrawSubset would draw.
  int64_t size = 0;  // In [1, n].
  int64_t k = 0;     // In [1, size]; 0: there is no sample.
};

// Pointers are to the device's memory.
struct DeviceThresholdRequest {
  // u = residual + gradient is formed; u overlaps neither.
  const float* residual = nullptr;
  const float* gradient = nullptr;
  float* u = nullptr;
  int64_t n = 0;  // At least 1, of a normal law 2.
  ThresholdRule rule;
  SampleRule sample;  // In place of rule.threshold; the rule is kFixed.
  // A guess of the lowest threshold that is looked at, which shows in the time
  // alone. Infinity: none.
  float keep_above = std::numeric_limits<float>::infinity();
  // How many elements are left on the device, at most; at least 1.
  int64_t capacity = 0;
};

struct DeviceThresholdResult {
  Moments moments;  // With sums if rule.NeedsSums().
  // Unless an element is not finite:
  float threshold = 0;
  int64_t num_selected = 0;  // Elements above the threshold.
  // They, if they are no more than the capacity. Valid until the next Run.
  DeviceSelection selection;
};

// The CPU's bits. One thread at a time.
class DeviceThreshold {
 public:
  virtual ~DeviceThreshold() = default;

  // Takes memory with the first vector, and again with a longer one or a larger
  // capacity: 0.75 n bytes and 8 capacity, and n / 8 + 4 size for a sample.
  // Errors: kInvalidArgument, kResourceExhausted, or CUDA's.
  virtual absl::Status Run(const DeviceThresholdRequest& request,
                           DeviceThresholdResult* result) = 0;
};

// `work` is not owned and outlives this. Errors: kResourceExhausted;
// kUnimplemented without the toolkit, where no kernels have a SparseWork.
absl::StatusOr<std::unique_ptr<DeviceThreshold>> NewDeviceThreshold(
    SparseWork* work);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_DEVICE_THRESHOLD_H_
