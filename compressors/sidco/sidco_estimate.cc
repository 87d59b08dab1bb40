#include "compressors/sidco/sidco_estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/status_macros.h"

namespace ps {

SidcoMemory SidcoEstimator::Memory() const {
  SidcoMemory memory;
  memory.steps = steps_.data();
  memory.num_steps = static_cast<int>(steps_.size());
  memory.refine_reach = refine_reach_;
  return memory;
}

absl::StatusOr<ThresholdEstimate> SidcoEstimator::Run(
    SidcoSteps* steps, Sieve* sieve, std::vector<double>* taken) {
  using Asks = SidcoSteps::Asks;
  while (steps->asks() != Asks::kNothing) {
    const float location = steps->location();
    const bool fits =
        steps->asks() == Asks::kStage || steps->asks() == Asks::kWarmStart;
    Exceedances exceedances;
    if (!fits) {
      PS_RETURN_IF_ERROR(
          sieve->CountAbove(location, steps->keep_above(), &exceedances.count));
    }
    if (!steps->CountSuffices(exceedances.count)) {
      PS_RETURN_IF_ERROR(
          sieve->MeasureAbove(location, steps->keep_above(), &exceedances));
    }
    if (fits) counted_.push_back({location, exceedances.count});
    steps->Next(exceedances, fits_);
    if (steps->num_steps() > static_cast<int>(taken->size())) {
      taken->push_back(steps->last_step());
    }
  }
  refine_reach_ = steps->refine_reach();
  ThresholdEstimate estimate;
  estimate.threshold = steps->threshold();
  estimate.stages = steps->stages();
  estimate.stopped = steps->stopped();
  if (steps->refined()) estimate.estimated_count = steps->estimated_count();
  return estimate;
}

absl::StatusOr<ThresholdEstimate> SidcoEstimator::Estimate(
    const EstimateRequest& request, Sieve* sieve) {
  SidcoSteps steps;
  steps.StartCold(request, Memory(), fits_);
  std::vector<double> taken;
  PS_ASSIGN_OR_RETURN(const ThresholdEstimate estimate,
                      Run(&steps, sieve, &taken));
  if (estimate.stages > 0) steps_ = std::move(taken);
  return estimate;
}

absl::StatusOr<ThresholdEstimate> SidcoEstimator::EstimateFrom(
    float location, const EstimateRequest& request, Sieve* sieve) {
  SidcoSteps steps;
  steps.StartWarm(location, request, Memory());
  std::vector<double> taken;
  return Run(&steps, sieve, &taken);
}

void SidcoEstimator::Adopt(SidcoTrace trace) {
  counted_ = std::move(trace.counted);
  if (trace.steps.has_value()) steps_ = *std::move(trace.steps);
  refine_reach_ = trace.refine_reach;
}

float SidcoEstimator::NextLocation(const EstimateRequest& request,
                                   float threshold, int64_t raw_count) const {
  std::vector<CountedLocation> points = counted_;
  points.push_back({threshold, raw_count});
  std::sort(points.begin(), points.end(),
            [](const CountedLocation& a, const CountedLocation& b) {
              return a.location < b.location;
            });
  const double aim = WarmStartCount(request);
  size_t above = 1;
  while (above + 1 < points.size() &&
         static_cast<double>(points[above].count) >= aim) {
    ++above;
  }
  if (above >= points.size() || points[above].count == 0 ||
      points[above].count == points[above - 1].count) {
    return std::numeric_limits<float>::infinity();
  }
  const double low = points[above - 1].location;
  const double low_count = static_cast<double>(points[above - 1].count);
  const double count = static_cast<double>(points[above].count);
  const double share = std::log(low_count / aim) / std::log(low_count / count);
  const double location = low + share * (points[above].location - low);
  // Every non-zero exceeds 0, so such a location would be useless.
  return location > 0 ? FloatAtMost(location)
                      : std::numeric_limits<float>::infinity();
}

}  // namespace ps
