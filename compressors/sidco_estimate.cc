#include "compressors/sidco_estimate.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/status_macros.h"

namespace ps {
namespace {

// What is kept aside lies above the threshold that the last vector had, or the
// step to it, times this: from one vector to the next they move by a few
// percent.
constexpr double kKeepMargin = 0.9;

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

// A target ratio above the first stage's would have the others move the
// threshold down.
int UsefulStages(const EstimateRequest& request) {
  const double density =
      request.target / static_cast<double>(request.population);
  return density >= request.first_stage_ratio ? 1 : request.stages;
}

// The location above which the first stage's share lies, by the exponential law
// of what lies above `location`.
float MoveToShare(float location, const Exceedances& exceedances,
                  const EstimateRequest& request) {
  const double count = static_cast<double>(exceedances.count);
  const double wanted =
      request.first_stage_ratio * static_cast<double>(request.population);
  const double moved =
      location + exceedances.sum / count * std::log(count / wanted);
  return FloatAtMost(std::max(0.0, moved));
}

}  // namespace

bool UsesFirstStage(const EstimateRequest& request) {
  if (!request.first_stage.has_value() || UsefulStages(request) < 2) {
    return false;
  }
  const double left =
      static_cast<double>(request.first_stage->exceedances.count);
  const double aim =
      request.first_stage_ratio * static_cast<double>(request.population);
  return left >= 0.5 * aim && left <= 2 * aim && left > request.target;
}

float SidcoEstimator::GuessNext(size_t stage, float threshold,
                                double predicted_step) const {
  // A prediction from the law alone may be off by a factor.
  const double step = stage < steps_.size()
                          ? kKeepMargin * steps_[stage] * threshold
                          : 0.5 * predicted_step;
  return FloatAtMost(threshold + step);
}

absl::StatusOr<ThresholdEstimate> SidcoEstimator::Estimate(
    const EstimateRequest& request, Sieve* sieve) {
  const double density =
      request.target / static_cast<double>(request.population);
  const int stages = UsefulStages(request);
  const double first_density =
      stages == 1 ? density : request.first_stage_ratio;
  const double scheduled_density =
      std::pow(density / request.first_stage_ratio, 1.0 / (stages - 1));
  const bool given_first = UsesFirstStage(request);
  TailSample sample = SampleOf(request.population, request.moments.sum,
                               request.moments.sum_squares);
  sample.mean_log = request.sum_logs / static_cast<double>(request.population);

  ThresholdEstimate estimate;
  if (given_first) {
    estimate.threshold = request.first_stage->location;
  } else {
    const std::optional<double> first =
        family_.magnitudes(sample, first_density);
    if (!first.has_value()) return estimate;
    estimate.threshold = FloatAtMost(*first);
  }
  estimate.stages = 1;
  next_guess_ = SieveGuess();
  next_guess_.keep_above = FloatAtMost(kKeepMargin * estimate.threshold);
  std::vector<double> steps;
  for (int stage = 2; stage <= stages; ++stage) {
    const float location = estimate.threshold;
    Exceedances exceedances;
    if (stage == 2 && given_first) {
      exceedances = request.first_stage->exceedances;
    } else {
      PS_RETURN_IF_ERROR(sieve->MeasureAbove(
          location,
          GuessNext(steps.size(), location,
                    ExponentialThreshold(sample.mean, scheduled_density)),
          &exceedances));
    }
    const double left = static_cast<double>(exceedances.count);
    if (exceedances.count == 0) break;
    if (stage == 2) {
      next_guess_.location = MoveToShare(location, exceedances, request);
    }
    if (request.count_correction && left <= request.target) break;
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
    if (stage == 2) {
      next_guess_.keep_above = std::max(
          next_guess_.location, FloatAtMost(location + kKeepMargin * *step));
    }
    steps.push_back(location > 0 ? *step / location : 0);
  }
  steps_ = std::move(steps);
  return estimate;
}

}  // namespace ps
