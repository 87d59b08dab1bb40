#include "compressors/sidco/sidco_selector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/cuda/device_sidco.h"
#include "compressors/selectors/exact_top_k.h"
#include "compressors/sidco/sidco_estimate.h"
#include "compressors/sidco/stage_controller.h"

namespace ps {
namespace {

// If the count above a refined threshold is below the target by this factor, a
// few elements far from all the others have misled the estimate.
constexpr int64_t kFarOff = 4;

// The location that means no warm start.
constexpr float kNowhere = std::numeric_limits<float>::infinity();

// The next threshold is likely to exceed this fraction of the last one.
constexpr float kKeepMargin = 0.9f;

class SidcoSelector final : public Selector {
 public:
  SidcoSelector(const SidcoOptions& options, TailLaw law,
                SparseKernels* kernels)
      : options_(options),
        fits_{law},
        kernels_(kernels),
        estimator_(law),
        controller_(options.controller),
        sieve_(kernels->NewSieve()),
        top_k_(kernels) {}

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    PS_RETURN_IF_ERROR(Form(input));
    stats->non_finite = moments_.num_non_finite > 0;
    if (stats->non_finite) return absl::OkStatus();
    const double target = options_.ratio * static_cast<double>(input.n);
    // The number of elements that the distribution describes.
    const int64_t population =
        options_.exclude_zeros ? moments_.num_nonzero : input.n;
    if (options_.ratio >= 1) {
      selected->all = true;
      stats->raw_count = input.n;
      return absl::OkStatus();
    }
    if (moments_.num_nonzero == 0) {
      stats->fallback = "zero";
      return absl::OkStatus();
    }
    if (input.n < options_.exact_below) {
      return SelectExactly("small", input, selected, stats);
    }
    if (target >= static_cast<double>(population)) {
      stats->fallback = "sparse";
      stats->raw_count = moments_.num_nonzero;
      return SelectAbove(0, selected);
    }
    if (moments_.min_nonzero == moments_.max &&
        population == moments_.num_nonzero) {
      return SelectExactly("constant", input, selected, stats);
    }
    PS_RETURN_IF_ERROR(
        SelectByEstimate(input, population, target, selected, stats));
    if (stats->stages == 0) {
      return SelectExactly("constant", input, selected, stats);
    }
    if (stats->raw_count == 0) {
      return SelectExactly("empty", input, selected, stats);
    }
    if (options_.refine_steps > 0 &&
        stats->raw_count * kFarOff < input.target_count) {
      return SelectExactly("spike", input, selected, stats);
    }
    return absl::OkStatus();
  }

  void Save(StateWriter* state) const override {
    state->PutDouble(location_);
    controller_.Save(state);
  }

  absl::Status Load(StateReader* state) override {
    PS_ASSIGN_OR_RETURN(const double location, state->GetDouble());
    if (!(location >= 0)) {
      return absl::DataLossError(absl::StrCat(
          "location of the warm start is ", location, "; must be at least 0"));
    }
    PS_RETURN_IF_ERROR(controller_.Load(state));
    location_ = static_cast<float>(location);
    return absl::OkStatus();
  }

 private:
  int Stages() const {
    return options_.adaptive ? controller_.stages() : options_.stages;
  }

  // Sets the fields that do not depend on the vector.
  EstimateRequest RequestFor(double target) const {
    EstimateRequest request;
    request.target = target;
    request.stages = Stages();
    request.count_correction = options_.count_correction;
    request.first_stage_ratio = options_.first_stage_ratio;
    request.min_exceedances = options_.min_exceedances;
    request.refine_steps = options_.refine_steps;
    request.refine_tolerance = options_.refine_tolerance;
    return request;
  }

  // Whether a device makes the estimate in the kernel that forms the vector.
  bool EstimatesOnDevice(int64_t n) const {
    return kernels_->device_work() != nullptr && options_.ratio < 1 &&
           n >= options_.exact_below && Stages() <= kMaxDeviceStages;
  }

  bool WasEstimatedOnDevice() const {
    return on_device_.has_value() &&
           on_device_->outcome == SidcoOutcome::kEstimated;
  }

  // Forms the vector; the device also makes the estimate if it can.
  absl::Status Form(const SelectorInput& input) {
    on_device_.reset();
    SieveGuess guess;
    guess.keep_above = IsWarm() ? location_ : kKeepMargin * last_threshold_;
    guess.sums = IsWarm() ? SieveGuess::Sums::kExceedances
                          : SieveGuess::Sums::kMagnitudes;
    if (EstimatesOnDevice(input.n)) return RunOnDevice(input, guess.keep_above);
    return sieve_->ResetToSum(input.residual, input.gradient, input.n, guess,
                              input.u, &moments_);
  }

  absl::Status RunOnDevice(const SelectorInput& input, float keep_above) {
    const double target = options_.ratio * static_cast<double>(input.n);
    DeviceSidcoRequest request;
    request.sum = {input.residual, input.gradient, input.u, input.n};
    request.capacity =
        DeviceSelectionCapacity(input.n, static_cast<int64_t>(target));
    request.fits = fits_;
    request.estimate = RequestFor(target);
    request.exclude_zeros = options_.exclude_zeros;
    if (IsWarm()) request.warm_location = location_;
    request.keep_above = keep_above;
    const SidcoMemory memory = estimator_.Memory();
    request.num_known_steps = std::min(memory.num_steps, kMaxDeviceStages);
    std::copy_n(memory.steps, request.num_known_steps, request.known_steps);
    request.refine_reach = memory.refine_reach;
    DeviceSidcoResult result;
    PS_RETURN_IF_ERROR(
        SearchOnDevice(request, kernels_->device_work(), &device_, &result));
    moments_ = result.moments;
    on_device_ = std::move(result);
    sieve_->Reset(input.u, input.n);
    return absl::OkStatus();
  }

  // Selects everything above `threshold`; a device may have done so already.
  absl::Status SelectAbove(float threshold, Selected* selected) {
    if (WasEstimatedOnDevice() && on_device_->selection != nullptr) {
      selected->on_device = on_device_->selection;
      return absl::OkStatus();
    }
    return sieve_->SelectAbove(threshold, &selected->elements);
  }

  // Whether the next estimate starts at location_.
  bool IsWarm() const { return std::isfinite(location_) && Stages() > 1; }

  absl::StatusOr<ThresholdEstimate> Estimate(const SelectorInput& input,
                                             EstimateRequest* request,
                                             bool* warm) {
    if (WasEstimatedOnDevice()) {
      *warm = on_device_->warm;
      estimator_.Adopt(on_device_->trace);
      return on_device_->estimate;
    }
    // There is no estimate if the device found that nothing can be fitted.
    if (on_device_.has_value()) return ThresholdEstimate();
    estimator_.Begin();
    if (IsWarm()) {
      if (HasSeveralStages(*request)) {
        PS_ASSIGN_OR_RETURN(
            const ThresholdEstimate estimate,
            estimator_.EstimateFrom(location_, *request, sieve_.get()));
        *warm = estimate.stages > 0;
        if (*warm) return estimate;
      }
      PS_RETURN_IF_ERROR(
          kernels_->SumMagnitudes(input.u, input.n, &request->moments));
    }
    if (fits_.MagnitudesNeedLogs()) {
      PS_RETURN_IF_ERROR(
          kernels_->SumLogs(input.u, input.n, &request->sum_logs));
      request->sum_logs +=
          static_cast<double>(request->population - moments_.num_nonzero) *
          LogOfZero(request->moments);
    }
    return estimator_.Estimate(*request, sieve_.get());
  }

  absl::Status SelectByEstimate(const SelectorInput& input, int64_t population,
                                double target, Selected* selected,
                                CompressionStats* stats) {
    EstimateRequest request = RequestFor(target);
    request.population = population;
    request.moments = moments_;
    bool warm = false;
    PS_ASSIGN_OR_RETURN(const ThresholdEstimate estimate,
                        Estimate(input, &request, &warm));
    location_ = kNowhere;
    if (estimate.stages == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(SelectAbove(estimate.threshold, selected));
    stats->threshold = estimate.threshold;
    stats->stages = estimate.stages;
    stats->raw_count = selected->count();
    last_threshold_ = estimate.threshold;
    // If this vector had too few for a fit, or hardly more than the target, a
    // warm start would lead to a cold estimate each time.
    const double aim = WarmStartCount(request);
    if (options_.warm_start && HasSeveralStages(request) &&
        aim >= static_cast<double>(options_.min_exceedances) &&
        aim >= 1.5 * target) {
      location_ = estimator_.NextLocation(request, estimate.threshold,
                                          stats->raw_count);
    }
    // If the ratio allows only one stage, or a warm start skipped the first
    // ones, the quality says nothing about their number. A refined estimate is
    // judged by its count before refinement.
    if (!warm &&
        target < options_.first_stage_ratio * static_cast<double>(population)) {
      const int64_t estimated =
          estimate.estimated_count.value_or(stats->raw_count);
      controller_.Observe(static_cast<double>(estimated) / target);
    }
    if (estimate.stopped && selected->count() > input.target_count) {
      PS_RETURN_IF_ERROR(Trim("few", input, selected, stats));
    }
    const double limit = std::ceil(options_.overshoot_cap *
                                   static_cast<double>(input.target_count));
    if (limit > 0 && static_cast<double>(selected->count()) > limit) {
      PS_RETURN_IF_ERROR(Trim("cap", input, selected, stats));
    }
    return absl::OkStatus();
  }

  // Selects the target number of largest elements, but no zeros, which carry no
  // information.
  absl::Status SelectExactly(const char* why, const SelectorInput& input,
                             Selected* selected, CompressionStats* stats) {
    stats->fallback = why;
    return top_k_.Select(input.u, input.n,
                         std::min(input.target_count, moments_.num_nonzero),
                         selected, &stats->threshold);
  }

  absl::Status Trim(const char* why, const SelectorInput& input,
                    Selected* selected, CompressionStats* stats) {
    stats->fallback = why;
    return top_k_.Trim(input.u, input.n, input.target_count, selected,
                       &stats->threshold);
  }

  const SidcoOptions options_;
  const TailFits fits_;
  SparseKernels* const kernels_;  // Not owned.
  SidcoEstimator estimator_;
  StageController controller_;
  const std::unique_ptr<Sieve> sieve_;
  ExactTopK top_k_;
  // Created on first use.
  std::unique_ptr<DeviceSearch<DeviceSidcoRequest>> device_;
  Moments moments_;  // The moments of the vector that Select has formed.
  // The result for that vector, if the device made the whole estimate.
  std::optional<DeviceSidcoResult> on_device_;
  // The start of the next vector's estimate; its exceedances over this are
  // listed while the vector is formed.
  float location_ = kNowhere;
  // The last vector's threshold, which determines the elements of the next
  // vector to keep aside.
  float last_threshold_ = std::numeric_limits<float>::infinity();
};

}  // namespace

std::unique_ptr<Selector> NewSidcoSelector(const SidcoOptions& options,
                                           TailLaw law,
                                           SparseKernels* kernels) {
  return std::make_unique<SidcoSelector>(options, law, kernels);
}

}  // namespace ps
