// The inputs of SIDCo's estimate, for host and device.
#ifndef COMPRESSORS_SIDCO_SIDCO_REQUEST_H_
#define COMPRESSORS_SIDCO_SIDCO_REQUEST_H_

#include <cmath>
#include <cstdint>

#include "common/host_device.h"
#include "tensor/moments.h"

namespace ps {

struct EstimateRequest {
  // The number of elements that the distribution describes: all of the
  // vector's, or its non-zeros. At least 1, and not all equal.
  int64_t population = 0;
  // The wanted number of elements above the threshold; in (0, population).
  double target = 0;
  Moments moments;
  // The sum of ln(magnitude) over the population, if the distribution needs it.
  double sum_logs = 0;
  int stages = 1;
  // Whether each stage aims by the number of elements left, so that the errors
  // of earlier stages do not multiply.
  bool count_correction = true;
  // The fraction that the first of several stages aims at. A target ratio that
  // is not below it needs one stage only.
  double first_stage_ratio = 0.25;
  // The fewest exceedances for another fit; with fewer it would be noise.
  int64_t min_exceedances = 32;
  // The most thresholds tried by counting after the last stage; with 0, its
  // threshold is the estimate. See refine_steps.h.
  int refine_steps = 0;
  double refine_tolerance = 0.05;
};

// Returns the value used for the logarithm of a zero, if zeros are in the
// population: SIDCo's code divides by the Euclidean norm and then adds the
// distance from 1 to the next double to every magnitude.
PS_HOST_DEVICE inline double LogOfZero(const Moments& moments) {
  return std::log(2.220446049250313e-16) + 0.5 * std::log(moments.sum_squares);
}

PS_HOST_DEVICE inline double TargetDensity(const EstimateRequest& request) {
  return request.target / static_cast<double>(request.population);
}

// Whether an estimate has several stages at all. It has one if the target is
// not below what the first of several would aim at.
PS_HOST_DEVICE inline bool HasSeveralStages(const EstimateRequest& request) {
  // Later stages would have to move the threshold down.
  return request.stages > 1 &&
         TargetDensity(request) < request.first_stage_ratio;
}

// WarmStartCount as a multiple of the target. The nearer the location of the
// last fit, the fewer elements need to be listed and the less the
// distribution's shape matters, but the fewer numbers are fitted. The count is
// predicted as well at 4 as at 16: the error of the mean is twice as large, and
// is extrapolated half as far.
constexpr double kWarmStartFactor = 4;

// Returns the number of elements that should lie above the location of a warm
// start: a few times the target, and at most what the first stage aims at.
PS_HOST_DEVICE inline double WarmStartCount(const EstimateRequest& request) {
  const double density = kWarmStartFactor * TargetDensity(request);
  return static_cast<double>(request.population) *
         (density < request.first_stage_ratio ? density
                                              : request.first_stage_ratio);
}

}  // namespace ps

#endif  // COMPRESSORS_SIDCO_SIDCO_REQUEST_H_
