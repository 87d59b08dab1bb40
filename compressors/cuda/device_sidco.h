// SIDCo's estimate and selection on a device in one launch; the host need not
// wait for it before it queues what uses the selection.
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
  Moments moments;  // The sums are missing after a warm start.
  // The fields from here on are valid for kEstimated only.
  bool warm = false;  // The estimate started from warm_location.
  ThresholdEstimate estimate;
  int64_t num_selected = 0;  // Elements above the threshold.
  // The selected elements, if there are no more than `capacity`. Valid until
  // the next Queue or Run.
  DeviceSelection selection;
  SidcoTrace trace;
};

// The thresholds equal the CPU's, except for the last bits of the device's
// logarithms and powers, which rounding to float almost always hides. For use
// by one thread at a time.
class DeviceSidco {
 public:
  virtual ~DeviceSidco() = default;

  // Queues: out = residual + gradient, all in device memory, and a selection
  // from it by SIDCo. Returns without waiting. `out` must not overlap either
  // input. Errors: kInvalidArgument for a request of another length or with
  // more than kMaxDeviceStages stages, or CUDA errors.
  virtual absl::Status Queue(const DeviceSidcoRequest& request,
                             const float* residual, const float* gradient,
                             float* out) = 0;

  // The selection that the queued work leaves, with a device_count: 0 if there
  // is no estimate, or if more than `capacity` elements are selected.
  virtual DeviceSelection queued_selection() const = 0;

  // What the queued work has found. Call after Queue, once its work is done:
  // when the caller has waited for the compression stream.
  virtual absl::Status Finish(DeviceSidcoResult* result) = 0;

  // Queue, a wait, and Finish.
  virtual absl::Status Run(const DeviceSidcoRequest& request,
                           const float* residual, const float* gradient,
                           float* out, DeviceSidcoResult* result) = 0;
};

// For vectors of n elements, of which at most `capacity` selected ones are left
// on the device; both are at least 1. `work` is not owned and must outlive the
// result. Allocates device memory: 8 `capacity` bytes, and for lists 18
// `capacity` bytes, but at least 0.75 n and at most 2.25 n. Errors:
// kInvalidArgument, kResourceExhausted; kUnimplemented in a build without the
// CUDA toolkit, where no kernels have a SparseWork.
absl::StatusOr<std::unique_ptr<DeviceSidco>> NewDeviceSidco(int64_t n,
                                                            int64_t capacity,
                                                            SparseWork* work);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_DEVICE_SIDCO_H_
