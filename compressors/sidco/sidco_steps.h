// SIDCo's threshold estimate as a state machine between measurements, for host
// and device: the caller decides how to measure. sidco_estimate.h describes the
// steps and the reasons for them.
#ifndef COMPRESSORS_SIDCO_SIDCO_STEPS_H_
#define COMPRESSORS_SIDCO_SIDCO_STEPS_H_

#include <cmath>
#include <cstdint>

#include "common/host_device.h"
#include "compressors/fits/threshold_formulas.h"
#include "compressors/sidco/refine_steps.h"
#include "compressors/sidco/sidco_request.h"
#include "tensor/moments.h"

namespace ps {

// The hints of previous vectors for this one. They affect the time that
// measurements take, never a result.
struct SidcoMemory {
  // The steps by stage, from the second on: the change of the threshold
  // relative to the threshold before it. Not owned.
  const double* steps = nullptr;
  int num_steps = 0;
  // Slightly less than the ratio of the lowest threshold that a refinement
  // tried to the one it began with.
  double refine_reach = 1;
};

// The number of elements with a magnitude above `location`.
struct CountedLocation {
  float location = 0;
  int64_t count = 0;
};

// Estimates a threshold. Call StartCold or StartWarm; then call Next with the
// exceedances over location() until asks() is kNothing. `Fits` has
//
//     bool Magnitudes(const TailSample&, double density, double* x) const;
//     bool Exceedances(const TailSample&, double density, double* x) const;
//
// like TailFits.
class SidcoSteps {
 public:
  enum class Asks {
    kNothing,
    kStage,
    kLargest,  // Whether all exceedances are as large as the maximum.
    kRefinement,
    kWarmStart,
  };

  // Starts from all magnitudes.
  template <class Fits>
  PS_HOST_DEVICE void StartCold(const EstimateRequest& request,
                                const SidcoMemory& memory, const Fits& fits) {
    Reset(request, memory);
    const double density = TargetDensity(request);
    num_stages_ = HasSeveralStages(request) ? request.stages : 1;
    const double first_density =
        num_stages_ == 1 ? density : request.first_stage_ratio;
    scheduled_density_ =
        std::pow(density / request.first_stage_ratio, 1.0 / (num_stages_ - 1));
    TailSample sample = TailSampleOf(request.population, request.moments.sum,
                                     request.moments.sum_squares);
    sample.mean_log =
        request.sum_logs / static_cast<double>(request.population);
    double first = 0;
    if (!fits.Magnitudes(sample, first_density, &first)) return;
    threshold_ = FloatAtMost(first);
    stages_ = 1;
    mean_ = sample.mean;
    low_count_ = request.moments.num_nonzero;
    stage_ = 2;
    BeginStage();
  }

  // Starts from the exceedances over `location` alone. Ends with 0 stages if
  // their number differs from WarmStartCount by more than a factor of 2, or if
  // a fit would be useless. Requires HasSeveralStages.
  PS_HOST_DEVICE void StartWarm(float location, const EstimateRequest& request,
                                const SidcoMemory& memory) {
    Reset(request, memory);
    warm_ = true;
    Ask(Asks::kWarmStart, location, location);
  }

  PS_HOST_DEVICE Asks asks() const { return asks_; }
  PS_HOST_DEVICE float location() const { return location_; }
  // The lowest location that will probably be asked for later.
  PS_HOST_DEVICE float keep_above() const { return keep_above_; }
  // Whether Next reads nothing but the count of the exceedances.
  PS_HOST_DEVICE bool CountSuffices(int64_t count) const {
    return asks_ == Asks::kLargest ||
           (asks_ == Asks::kRefinement && refine_.CountSuffices(count));
  }

  template <class Fits>
  PS_HOST_DEVICE void Next(const Exceedances& measured, const Fits& fits) {
    switch (asks_) {
      case Asks::kNothing:
        return;
      case Asks::kStage:
        return StageMeasured(measured, fits);
      case Asks::kWarmStart:
        return WarmStartMeasured(measured, fits);
      case Asks::kLargest:
        return Fit(measured.count == exceedances_.count, fits);
      case Asks::kRefinement:
        return Refined(measured);
    }
  }

  // The estimate; valid when asks() is kNothing. See ThresholdEstimate.
  PS_HOST_DEVICE float threshold() const { return threshold_; }
  PS_HOST_DEVICE int stages() const { return stages_; }
  PS_HOST_DEVICE bool stopped() const { return stopped_; }
  PS_HOST_DEVICE bool refined() const { return refined_; }
  // The count; valid if refined().
  PS_HOST_DEVICE int64_t estimated_count() const {
    return refine_.result().estimated_count;
  }
  // Results for the next vector's SidcoMemory: read the last step and the
  // number of steps after each Next, and the reach at the end.
  PS_HOST_DEVICE int num_steps() const { return num_steps_; }
  PS_HOST_DEVICE double last_step() const { return last_step_; }
  PS_HOST_DEVICE double refine_reach() const { return memory_.refine_reach; }

 private:
  PS_HOST_DEVICE void Reset(const EstimateRequest& request,
                            const SidcoMemory& memory) {
    *this = SidcoSteps();
    request_ = request;
    memory_ = memory;
  }

  PS_HOST_DEVICE void Ask(Asks asks, float location, float keep_above) {
    asks_ = asks;
    location_ = location;
    keep_above_ = keep_above;
  }

  PS_DEVICE_CALL void BeginStage() {
    if (stage_ > num_stages_) return FinishStages();
    // The margins account for changes: from one vector to the next thresholds
    // move by a few percent, but a prediction from the distribution alone may
    // be off by a factor.
    const double step =
        num_steps_ < memory_.num_steps
            ? 0.9 * memory_.steps[num_steps_] * threshold_
            : 0.5 * ExponentialThreshold(mean_, scheduled_density_);
    Ask(Asks::kStage, threshold_,
        FloatAtMost(memory_.refine_reach * (threshold_ + step)));
  }

  template <class Fits>
  PS_HOST_DEVICE void StageMeasured(const Exceedances& measured,
                                    const Fits& fits) {
    const double left = static_cast<double>(measured.count);
    if (measured.count == 0) return FinishStages();
    if (left > request_.target) {
      low_ = threshold_;
      low_count_ = measured.count;
    } else if (request_.count_correction) {
      AddStep(0);
      return FinishStages();
    }
    mean_ = measured.sum / left;
    exceedances_ = measured;
    density_ =
        request_.count_correction
            ? std::pow(request_.target / left, 1.0 / (num_stages_ - stage_ + 1))
            : scheduled_density_;
    LookForLargest(fits);
  }

  template <class Fits>
  PS_HOST_DEVICE void WarmStartMeasured(const Exceedances& measured,
                                        const Fits& fits) {
    const double left = static_cast<double>(measured.count);
    const double aim = WarmStartCount(request_);
    if (left < 0.5 * aim || left > 2 * aim || left <= request_.target) {
      return Finish();
    }
    threshold_ = location_;
    low_ = location_;
    low_count_ = measured.count;
    exceedances_ = measured;
    density_ = request_.target / left;
    LookForLargest(fits);
  }

  // Asks whether everything above the threshold is as large as the vector's
  // maximum, if that is possible.
  template <class Fits>
  PS_HOST_DEVICE void LookForLargest(const Fits& fits) {
    // If they are all equal, the sum shows it up to rounding; otherwise there
    // is no need to measure.
    const float max = request_.moments.max;
    const double largest =
        static_cast<double>(max) - static_cast<double>(threshold_);
    const double if_equal = largest * static_cast<double>(exceedances_.count);
    if (exceedances_.sum < if_equal * (1 - 1e-9)) return Fit(false, fits);
    const float below_max = ::nextafterf(max, 0.0f);
    Ask(Asks::kLargest, below_max, below_max);
  }

  // Fits a distribution to the exceedances and moves the threshold to where
  // `density_` of them lie above it.
  template <class Fits>
  PS_DEVICE_CALL void Fit(bool all_equal, const Fits& fits) {
    const float location = threshold_;
    double step = 0;
    stopped_ =
        exceedances_.count < request_.min_exceedances || all_equal ||
        !fits.Exceedances(TailSampleOf(exceedances_.count, exceedances_.sum,
                                       exceedances_.sum_squares),
                          density_, &step);
    if (stopped_) return warm_ ? Finish() : FinishStages();
    threshold_ = FloatAtMost(location + step);
    ++stages_;
    if (warm_) return FinishStages();
    AddStep(location > 0 ? (threshold_ - location) / location : 0);
    ++stage_;
    BeginStage();
  }

  PS_HOST_DEVICE void AddStep(double step) {
    last_step_ = step;
    ++num_steps_;
  }

  // Corrects the threshold, if a location is known that more than the target
  // exceed.
  PS_DEVICE_CALL void FinishStages() {
    if (request_.refine_steps <= 0 || stopped_ ||
        static_cast<double>(low_count_) <= request_.target) {
      return Finish();
    }
    RefineRequest refine;
    refine.target = request_.target;
    refine.tolerance = request_.refine_tolerance;
    refine.max_counts = request_.refine_steps;
    refine.low = low_;
    refine.low_count = low_count_;
    refine.threshold = threshold_;
    refine.keep_above = FloatAtMost(memory_.refine_reach * threshold_);
    refine_.Start(refine);
    Ask(Asks::kRefinement, refine_.threshold(), refine_.keep_above());
  }

  PS_HOST_DEVICE void Refined(const Exceedances& measured) {
    refine_.Next(measured);
    if (!refine_.done()) {
      return Ask(Asks::kRefinement, refine_.threshold(), refine_.keep_above());
    }
    const RefinedThreshold& result = refine_.result();
    if (threshold_ > 0) {
      // From one vector to the next, corrections move by a few percent.
      memory_.refine_reach = 0.95 * result.lowest_tried / threshold_;
    }
    threshold_ = result.threshold;
    refined_ = true;
    Finish();
  }

  PS_HOST_DEVICE void Finish() { asks_ = Asks::kNothing; }

  EstimateRequest request_;
  SidcoMemory memory_;
  bool warm_ = false;
  Asks asks_ = Asks::kNothing;
  float location_ = 0;
  float keep_above_ = 0;
  float threshold_ = 0;
  int stages_ = 0;
  bool stopped_ = false;
  bool refined_ = false;
  // The number of stages of a cold start, and the next one.
  int num_stages_ = 1;
  int stage_ = 0;
  double scheduled_density_ = 0;
  double mean_ = 0;  // Mean of the numbers that were last fitted.
  // The last location that more than the target exceed.
  float low_ = 0;
  int64_t low_count_ = 0;
  // The numbers that the next distribution is fitted to, and the fraction of
  // them that should remain above the threshold.
  Exceedances exceedances_;
  double density_ = 0;
  int num_steps_ = 0;
  double last_step_ = 0;
  RefineSteps refine_;
};

}  // namespace ps

#endif  // COMPRESSORS_SIDCO_SIDCO_STEPS_H_
