#include "compressors/sidco_estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "common/status_macros.h"
#include "compressors/threshold_refine.h"

namespace ps {
namespace {

// Of the target. The nearer the location of the last fit, the less there is to
// list, and the less the law's shape matters; but the fewer numbers are fitted.
// What these say of the count is as sure at 4 as at 16: the error of their mean
// is twice as large, and is carried half as far.
constexpr double kWarmStartFactor = 4;

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

double Density(const EstimateRequest& request) {
  return request.target / static_cast<double>(request.population);
}

}  // namespace

bool HasSeveralStages(const EstimateRequest& request) {
  // Later stages would have to move the threshold down.
  return request.stages > 1 && Density(request) < request.first_stage_ratio;
}

double WarmStartCount(const EstimateRequest& request) {
  return static_cast<double>(request.population) *
         std::min(request.first_stage_ratio,
                  kWarmStartFactor * Density(request));
}

float SidcoEstimator::GuessNext(size_t stage, float threshold,
                                double predicted_step) const {
  // Margins: what moves from one vector to the next is a few percent, but a
  // prediction from the law alone may be off by a factor.
  const double step = stage < steps_.size() ? 0.9 * steps_[stage] * threshold
                                            : 0.5 * predicted_step;
  return FloatAtMost(refine_reach_ * (threshold + step));
}

absl::Status SidcoEstimator::Refine(const EstimateRequest& request,
                                    float location, int64_t count, Sieve* sieve,
                                    ThresholdEstimate* estimate) {
  RefineRequest refine;
  refine.target = request.target;
  refine.tolerance = request.refine_tolerance;
  refine.max_counts = request.refine_steps;
  refine.low = location;
  refine.low_count = count;
  refine.threshold = estimate->threshold;
  refine.keep_above = FloatAtMost(refine_reach_ * estimate->threshold);
  PS_ASSIGN_OR_RETURN(const RefinedThreshold refined,
                      RefineThreshold(refine, sieve));
  if (estimate->threshold > 0) {
    // From one vector to the next the corrections move by a few percent.
    refine_reach_ = 0.95 * refined.lowest_tried / estimate->threshold;
  }
  estimate->threshold = refined.threshold;
  estimate->estimated_count = refined.estimated_count;
  return absl::OkStatus();
}

absl::StatusOr<bool> SidcoEstimator::Step(const EstimateRequest& request,
                                          const Exceedances& exceedances,
                                          double density, Sieve* sieve,
                                          ThresholdEstimate* estimate) {
  const float location = estimate->threshold;
  PS_ASSIGN_OR_RETURN(
      const bool all_equal,
      AllEqual(exceedances, location, request.moments.max, sieve));
  estimate->stopped = exceedances.count < request.min_exceedances || all_equal;
  if (estimate->stopped) return false;
  const std::optional<double> step = family_.exceedances(
      SampleOf(exceedances.count, exceedances.sum, exceedances.sum_squares),
      density);
  estimate->stopped = !step.has_value();
  if (estimate->stopped) return false;
  estimate->threshold = FloatAtMost(location + *step);
  ++estimate->stages;
  return true;
}

absl::StatusOr<ThresholdEstimate> SidcoEstimator::Estimate(
    const EstimateRequest& request, Sieve* sieve) {
  const double density = Density(request);
  const int stages = HasSeveralStages(request) ? request.stages : 1;
  const double first_density =
      stages == 1 ? density : request.first_stage_ratio;
  const double scheduled_density =
      std::pow(density / request.first_stage_ratio, 1.0 / (stages - 1));
  TailSample sample = SampleOf(request.population, request.moments.sum,
                               request.moments.sum_squares);
  sample.mean_log = request.sum_logs / static_cast<double>(request.population);

  ThresholdEstimate estimate;
  const std::optional<double> first = family_.magnitudes(sample, first_density);
  if (!first.has_value()) return estimate;
  estimate.threshold = FloatAtMost(*first);
  estimate.stages = 1;
  std::vector<double> steps;
  double mean = sample.mean;
  // The last location that more than the target exceed.
  float low = 0;
  int64_t low_count = request.moments.num_nonzero;
  for (int stage = 2; stage <= stages; ++stage) {
    const float location = estimate.threshold;
    Exceedances exceedances;
    PS_RETURN_IF_ERROR(sieve->MeasureAbove(
        location,
        GuessNext(steps.size(), location,
                  ExponentialThreshold(mean, scheduled_density)),
        &exceedances));
    counted_.push_back({location, exceedances.count});
    const double left = static_cast<double>(exceedances.count);
    if (exceedances.count == 0) break;
    if (left > request.target) {
      low = location;
      low_count = exceedances.count;
    } else if (request.count_correction) {
      steps.push_back(0);
      break;
    }
    mean = exceedances.sum / left;
    const double stage_density =
        request.count_correction
            ? std::pow(request.target / left, 1.0 / (stages - stage + 1))
            : scheduled_density;
    PS_ASSIGN_OR_RETURN(
        const bool moved,
        Step(request, exceedances, stage_density, sieve, &estimate));
    if (!moved) break;
    steps.push_back(location > 0 ? (estimate.threshold - location) / location
                                 : 0);
  }
  steps_ = std::move(steps);
  if (request.refine_steps > 0 && !estimate.stopped &&
      static_cast<double>(low_count) > request.target) {
    PS_RETURN_IF_ERROR(Refine(request, low, low_count, sieve, &estimate));
  }
  return estimate;
}

absl::StatusOr<ThresholdEstimate> SidcoEstimator::EstimateFrom(
    float location, const EstimateRequest& request, Sieve* sieve) {
  ThresholdEstimate estimate;
  Exceedances exceedances;
  PS_RETURN_IF_ERROR(sieve->MeasureAbove(location, location, &exceedances));
  counted_.push_back({location, exceedances.count});
  const double left = static_cast<double>(exceedances.count);
  const double aim = WarmStartCount(request);
  if (left < 0.5 * aim || left > 2 * aim || left <= request.target) {
    return estimate;
  }
  estimate.threshold = location;
  PS_ASSIGN_OR_RETURN(
      const bool moved,
      Step(request, exceedances, request.target / left, sieve, &estimate));
  if (moved && request.refine_steps > 0) {
    PS_RETURN_IF_ERROR(
        Refine(request, location, exceedances.count, sieve, &estimate));
  }
  return estimate;
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
  // Above 0 lies everything.
  return location > 0 ? FloatAtMost(location)
                      : std::numeric_limits<float>::infinity();
}

}  // namespace ps
