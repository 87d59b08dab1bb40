// What is asked of SIDCo's estimate; for host and device.
#ifndef COMPRESSORS_SIDCO_SIDCO_REQUEST_H_
#define COMPRESSORS_SIDCO_SIDCO_REQUEST_H_

#include <cmath>
#include <cstdint>

#include "common/host_device.h"
#include "tensor/moments.h"

namespace ps {

struct EstimateRequest {
  // The numbers of the vector that the law describes: its length, or its
  // non-zeros. At least 1, and not all equal.
  int64_t population = 0;
  // How many should exceed the threshold; in (0, population).
  double target = 0;
  Moments moments;
  // Of ln a over the population; only for a family that needs it.
  double sum_logs = 0;
  int stages = 1;
  // Aims each stage by the number that is left, so that the errors of earlier
  // stages do not multiply.
  bool count_correction = true;
  // What the first of several stages aims at. A target ratio above this needs
  // one stage only.
  double first_stage_ratio = 0.25;
  // With fewer exceedances than this, another fit would be noise.
  int64_t min_exceedances = 32;
  // Thresholds corrected by counting, after the last stage, at most; 0: its
  // threshold is the estimate. See threshold_refine.h.
  int refine_steps = 0;
  double refine_tolerance = 0.05;
};

// The logarithm of a zero, where zeros are in the population: SIDCo's code
// divides by the Euclidean norm and then adds 2.2e-16 to every magnitude.
PS_HOST_DEVICE inline double LogOfZero(const Moments& moments) {
  return std::log(2.2e-16) + 0.5 * std::log(moments.sum_squares);
}

PS_HOST_DEVICE inline double TargetDensity(const EstimateRequest& request) {
  return request.target / static_cast<double>(request.population);
}

// Whether an estimate has several stages at all: not if the target is above
// what the first of them aims at.
PS_HOST_DEVICE inline bool HasSeveralStages(const EstimateRequest& request) {
  // Later stages would have to move the threshold down.
  return request.stages > 1 &&
         TargetDensity(request) < request.first_stage_ratio;
}

// Of the target. The nearer the location of the last fit, the less there is to
// list, and the less the law's shape matters; but the fewer numbers are fitted.
// What these say of the count is as sure at 4 as at 16: the error of their mean
// is twice as large, and is carried half as far.
constexpr double kWarmStartFactor = 4;

// The number of elements that should lie above the location of a warm start: a
// few times the target, and no more than the first stage aims at.
PS_HOST_DEVICE inline double WarmStartCount(const EstimateRequest& request) {
  const double density = kWarmStartFactor * TargetDensity(request);
  return static_cast<double>(request.population) *
         (density < request.first_stage_ratio ? density
                                              : request.first_stage_ratio);
}

}  // namespace ps

#endif  // COMPRESSORS_SIDCO_SIDCO_REQUEST_H_
