#include "compressors/sidco_estimate.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/status_macros.h"
#include "compressors/threshold_refine.h"

namespace ps {
namespace {

TailSample SampleOf(int64_t count, double sum, double sum_squares) {
  TailSample sample;
  const double n = static_cast<double>(count);
  sample.mean = sum / n;
  // Rounding may bring a variance of almost 0 below it.
  sample.variance = std::max(0.0, sum_squares / n - sample.mean * sample.mean);
  return sample;
}

// Whether everything above `location` is as large as the vector's maximum.
absl::StatusOr<bool> AllEqual(const Exceedances& exceedances, float location,
                              float max, Sieve* sieve) {
  // If so, the sum says so up to rounding; else there is no need to look.
  const double largest = double{max} - location;
  const double if_equal = largest * static_cast<double>(exceedances.count);
  if (exceedances.sum < if_equal * (1 - 1e-9)) return false;
  const float below_max = std::nextafter(max, 0.0f);
  Exceedances largest_only;
  PS_RETURN_IF_ERROR(sieve->MeasureAbove(below_max, below_max, &largest_only));
  return largest_only.count == exceedances.count;
}

}  // namespace

float SidcoEstimator::GuessLowest(size_t i, float threshold,
                                  double predicted_step) const {
  // Margins: what moves from one vector to the next is a few percent, but a
  // prediction from the law alone may be off by a factor.
  if (i >= lowest_after_.size()) {
    return FloatAtMost(threshold + 0.5 * predicted_step);
  }
  const double step = lowest_after_[i] - 1;
  return FloatAtMost(threshold *
                     std::max(0.0, 1 + step - 0.1 * std::abs(step) - 0.02));
}

absl::StatusOr<ThresholdEstimate> SidcoEstimator::Estimate(
    const EstimateRequest& request, Sieve* sieve) {
  PS_ASSIGN_OR_RETURN(Stages stages, RunStages(request, sieve));
  ThresholdEstimate& estimate = stages.estimate;
  std::vector<float>& looked_at = stages.looked_at;
  if (estimate.stages > 0 && !estimate.stopped && request.refine_steps > 0 &&
      static_cast<double>(stages.low_count) > request.target) {
    RefineRequest refine;
    refine.target = request.target;
    refine.tolerance = request.refine_tolerance;
    refine.max_counts = request.refine_steps;
    refine.low = stages.low;
    refine.low_count = stages.low_count;
    refine.threshold = estimate.threshold;
    refine.keep_above =
        GuessLowest(looked_at.size(), estimate.threshold, /*predicted_step=*/0);
    PS_ASSIGN_OR_RETURN(const RefinedThreshold refined,
                        RefineThreshold(refine, sieve));
    looked_at.push_back(estimate.threshold);
    looked_at.push_back(refined.lowest_tried);
    estimate.threshold = refined.threshold;
    estimate.estimated_count = refined.estimated_count;
  }
  Remember(looked_at, estimate.threshold);
  return estimate;
}

void SidcoEstimator::Remember(const std::vector<float>& looked_at, float last) {
  float lowest = last;
  lowest_after_.resize(looked_at.size());
  for (size_t i = looked_at.size(); i-- > 0;) {
    lowest_after_[i] = looked_at[i] > 0 ? lowest / looked_at[i] : 1;
    lowest = std::min(lowest, looked_at[i]);
  }
}

absl::StatusOr<SidcoEstimator::Stages> SidcoEstimator::RunStages(
    const EstimateRequest& request, Sieve* sieve) const {
  const double density =
      request.target / static_cast<double>(request.population);
  // With a first stage that aims lower than the target, the others would have
  // to move the threshold down.
  const int stages = density >= request.first_stage_ratio ? 1 : request.stages;
  const double first_density =
      stages == 1 ? density : request.first_stage_ratio;
  const double scheduled_density =
      std::pow(density / request.first_stage_ratio, 1.0 / (stages - 1));
  TailSample sample = SampleOf(request.population, request.moments.sum,
                               request.moments.sum_squares);
  sample.mean_log = request.sum_logs / static_cast<double>(request.population);

  Stages result;
  result.low_count = request.moments.num_nonzero;
  ThresholdEstimate& estimate = result.estimate;
  const std::optional<double> first = family_.magnitudes(sample, first_density);
  if (!first.has_value()) return result;
  estimate.threshold = FloatAtMost(*first);
  estimate.stages = 1;
  for (int stage = 2; stage <= stages; ++stage) {
    const float location = estimate.threshold;
    Exceedances exceedances;
    PS_RETURN_IF_ERROR(sieve->MeasureAbove(
        location,
        GuessLowest(result.looked_at.size(), location,
                    ExponentialThreshold(sample.mean, scheduled_density)),
        &exceedances));
    result.looked_at.push_back(location);
    const double left = static_cast<double>(exceedances.count);
    if (exceedances.count == 0) break;
    if (left > request.target) {
      result.low = location;
      result.low_count = exceedances.count;
    } else if (request.count_correction) {
      break;
    }
    PS_ASSIGN_OR_RETURN(
        const bool all_equal,
        AllEqual(exceedances, location, request.moments.max, sieve));
    if (exceedances.count < request.min_exceedances || all_equal) {
      estimate.stopped = true;
      break;
    }
    const double stage_density =
        request.count_correction
            ? std::pow(request.target / left, 1.0 / (stages - stage + 1))
            : scheduled_density;
    sample =
        SampleOf(exceedances.count, exceedances.sum, exceedances.sum_squares);
    const std::optional<double> step =
        family_.exceedances(sample, stage_density);
    if (!step.has_value()) {
      estimate.stopped = true;
      break;
    }
    estimate.threshold = FloatAtMost(location + *step);
    ++estimate.stages;
  }
  return result;
}

}  // namespace ps
