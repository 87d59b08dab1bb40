// SIDCo's estimate and selection, as a device's search.
#ifndef COMPRESSORS_CUDA_DEVICE_SIDCO_H_
#define COMPRESSORS_CUDA_DEVICE_SIDCO_H_

#include <cmath>
#include <cstdint>

#include "compressors/cuda/device_search.h"
#include "compressors/sidco/sidco_estimate.h"

namespace ps {

constexpr int kMaxDeviceStages = 64;

enum class SidcoOutcome {
  kUnknown,
  kEstimated,
  kNonFinite,  // An element is not finite.
  kZero,       // All elements are zero.
  kSparse,     // No more non-zeros than the target.
  kConstant,   // All magnitudes are equal, or no law can be fitted.
};

struct DeviceSidcoResult {
  SidcoOutcome outcome = SidcoOutcome::kUnknown;
  Moments moments;  // The sums are missing after a warm start.
  // The fields from here on are valid for kEstimated only.
  bool warm = false;  // The estimate started from warm_location.
  ThresholdEstimate estimate;
  int64_t num_selected = 0;  // Elements above the threshold.
  // Null if more than the capacity are selected.
  DeviceSelection* selection = nullptr;
  SidcoTrace trace;
};

struct DeviceSidcoRequest {
  using Result = DeviceSidcoResult;

  DeviceSum sum;  // To be formed.
  TailFits fits;
  // `population` and `moments` are computed on the device. stages: 1 to
  // kMaxDeviceStages.
  EstimateRequest estimate;
  bool exclude_zeros = true;  // From the population.
  // The location of a warm start; infinity means none.
  float warm_location = HUGE_VALF;
  // A guess, like SieveGuess::keep_above.
  float keep_above = HUGE_VALF;
  // Those of SidcoMemory.
  double known_steps[kMaxDeviceStages] = {};
  int num_known_steps = 0;
  double refine_reach = 1;
  int64_t capacity = 0;  // At least 1.
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_DEVICE_SIDCO_H_
