// SIDCo's estimate and selection in one go on a device: one launch, and the
// host waits only for the end of it.
#ifndef COMPRESSORS_CUDA_DEVICE_SIDCO_H_
#define COMPRESSORS_CUDA_DEVICE_SIDCO_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compressors/cuda/sidco_passes.h"
#include "compressors/sidco/sidco_estimate.h"
#include "tensor/device_selection.h"
#include "tensor/sparse_kernels.h"

namespace ps {

struct DeviceSidcoResult {
  SidcoOutcome outcome = SidcoOutcome::kUnknown;
  Moments moments;  // Without sums after a warm start.
  // If kEstimated:
  bool warm = false;  // From warm_location.
  ThresholdEstimate estimate;
  int64_t num_selected = 0;  // Elements above the threshold.
  // They, if they are no more than the capacity. Valid until the next Run.
  DeviceSelection selection;
  SidcoTrace trace;
};

// The thresholds are the CPU's, but for the last bits of the device's
// logarithms and powers, which a rounding to float hides, all but never. One
// thread at a time.
class DeviceSidco {
 public:
  virtual ~DeviceSidco() = default;

  // out = residual + gradient, all in the device's memory, and what SIDCo
  // selects of it. `out` overlaps neither input. Errors: kInvalidArgument for a
  // request of another length or with more than kMaxDeviceStages stages, or
  // CUDA's.
  virtual absl::Status Run(const DeviceSidcoRequest& request,
                           const float* residual, const float* gradient,
                           float* out, DeviceSidcoResult* result) = 0;
};

// For vectors of n elements, of which no more than `capacity` are left on the
// device; at least 1 each. `work` is not owned and outlives this. Takes 0.75 n
// bytes of the device for lists, and 8 `capacity`. Errors: kInvalidArgument,
// kResourceExhausted; kUnimplemented without the toolkit, where no kernels have
// a SparseWork.
absl::StatusOr<std::unique_ptr<DeviceSidco>> NewDeviceSidco(int64_t n,
                                                            int64_t capacity,
                                                            SparseWork* work);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_DEVICE_SIDCO_H_
