#include "compressors/sidco_selector.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/exact_top_k.h"
#include "compressors/sidco_estimate.h"
#include "compressors/stage_controller.h"

namespace ps {
namespace {

// Even refined, a threshold that so many times fewer than the target exceed
// has been led astray, by a few elements that are far from all the others.
constexpr int64_t kFarOff = 8;

// No warm start.
constexpr float kNowhere = std::numeric_limits<float>::infinity();

// Of a threshold: the next one is likely to be above this.
constexpr float kKeepMargin = 0.9f;

class SidcoSelector final : public Selector {
 public:
  SidcoSelector(const SidcoOptions& options, const TailFamily& family,
                SparseKernels* kernels)
      : options_(options),
        needs_logs_(family.magnitudes_need_logs),
        kernels_(kernels),
        estimator_(family),
        controller_(options.controller),
        sieve_(kernels->NewSieve()),
        top_k_(kernels) {}

  absl::Status AddAndMeasure(SparseKernels*, const float* residual,
                             const float* gradient, int64_t n, float* out,
                             Moments* moments) override {
    SieveGuess guess;
    guess.keep_above = IsWarm() ? location_ : kKeepMargin * last_threshold_;
    guess.needs_sums = !IsWarm();
    return sieve_->ResetToSum(residual, gradient, n, guess, out, moments);
  }

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    Selection* const elements = &selected->elements;
    const Moments& moments = input.moments;
    const double target = options_.ratio * static_cast<double>(input.n);
    // The numbers that the law is fitted to.
    const int64_t population =
        options_.exclude_zeros ? moments.num_nonzero : input.n;
    if (options_.ratio >= 1) {
      selected->all = true;
      stats->raw_count = input.n;
      return absl::OkStatus();
    }
    if (moments.num_nonzero == 0) {
      stats->fallback = "zero";
      return absl::OkStatus();
    }
    if (input.n < options_.exact_below) {
      return SelectExactly("small", input, elements, stats);
    }
    if (target >= static_cast<double>(population)) {
      stats->fallback = "sparse";
      stats->raw_count = moments.num_nonzero;
      return sieve_->SelectAbove(0, elements);
    }
    if (moments.min_nonzero == moments.max &&
        population == moments.num_nonzero) {
      return SelectExactly("constant", input, elements, stats);
    }
    PS_RETURN_IF_ERROR(
        SelectByEstimate(input, population, target, elements, stats));
    if (stats->stages == 0) {
      return SelectExactly("constant", input, elements, stats);
    }
    if (stats->raw_count == 0) {
      return SelectExactly("empty", input, elements, stats);
    }
    if (options_.refine_steps > 0 &&
        stats->raw_count * kFarOff < stats->target_count) {
      return SelectExactly("spike", input, elements, stats);
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

  // Whether the next estimate begins at location_.
  bool IsWarm() const { return std::isfinite(location_) && Stages() > 1; }

  absl::StatusOr<ThresholdEstimate> Estimate(const SelectorInput& input,
                                             EstimateRequest* request,
                                             bool* warm) {
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
    if (needs_logs_) {
      PS_RETURN_IF_ERROR(
          kernels_->SumLogs(input.u, input.n, &request->sum_logs));
      request->sum_logs +=
          static_cast<double>(request->population - input.moments.num_nonzero) *
          LogOfZero(request->moments);
    }
    return estimator_.Estimate(*request, sieve_.get());
  }

  absl::Status SelectByEstimate(const SelectorInput& input, int64_t population,
                                double target, Selection* elements,
                                CompressionStats* stats) {
    EstimateRequest request;
    request.population = population;
    request.target = target;
    request.moments = input.moments;
    request.stages = Stages();
    request.count_correction = options_.count_correction;
    request.first_stage_ratio = options_.first_stage_ratio;
    request.min_exceedances = options_.min_exceedances;
    request.refine_steps = options_.refine_steps;
    request.refine_tolerance = options_.refine_tolerance;
    bool warm = false;
    PS_ASSIGN_OR_RETURN(const ThresholdEstimate estimate,
                        Estimate(input, &request, &warm));
    location_ = kNowhere;
    if (estimate.stages == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(sieve_->SelectAbove(estimate.threshold, elements));
    stats->threshold = estimate.threshold;
    stats->stages = estimate.stages;
    stats->raw_count = elements->size();
    last_threshold_ = estimate.threshold;
    // Too few for a fit, or hardly more than the target, would lead to a cold
    // estimate each time.
    const double aim = WarmStartCount(request);
    if (options_.warm_start && HasSeveralStages(request) &&
        aim >= static_cast<double>(options_.min_exceedances) &&
        aim >= 1.5 * target) {
      location_ = estimator_.NextLocation(request, estimate.threshold,
                                          stats->raw_count);
    }
    // Where one stage is all that the ratio allows, or the first ones were left
    // out, the quality says nothing about their number. What was refined is
    // judged by what it was before.
    if (!warm &&
        target < options_.first_stage_ratio * static_cast<double>(population)) {
      const int64_t estimated =
          estimate.estimated_count.value_or(stats->raw_count);
      controller_.Observe(static_cast<double>(estimated) / target);
    }
    if (estimate.stopped && elements->size() > stats->target_count) {
      Trim("few", elements, stats);
    }
    const double limit = std::ceil(options_.overshoot_cap *
                                   static_cast<double>(stats->target_count));
    if (limit > 0 && static_cast<double>(elements->size()) > limit) {
      Trim("cap", elements, stats);
    }
    return absl::OkStatus();
  }

  // What a zero counts as, if zeros count: SIDCo's code divides by the
  // Euclidean norm and then adds 2.2e-16 to every magnitude.
  static double LogOfZero(const Moments& moments) {
    return std::log(2.2e-16) + 0.5 * std::log(moments.sum_squares);
  }

  // The target number of largest elements, but no zeros: they say nothing.
  absl::Status SelectExactly(const char* why, const SelectorInput& input,
                             Selection* elements, CompressionStats* stats) {
    stats->fallback = why;
    PS_RETURN_IF_ERROR(top_k_.Select(
        input.u, input.n,
        std::min(stats->target_count, input.moments.num_nonzero), elements));
    stats->threshold = SmallestMagnitude(*elements);
    return absl::OkStatus();
  }

  static void Trim(const char* why, Selection* elements,
                   CompressionStats* stats) {
    stats->fallback = why;
    TrimToTopK(stats->target_count, elements);
    stats->threshold = SmallestMagnitude(*elements);
  }

  const SidcoOptions options_;
  const bool needs_logs_;
  SparseKernels* const kernels_;  // Not owned.
  SidcoEstimator estimator_;
  StageController controller_;
  const std::unique_ptr<Sieve> sieve_;
  ExactTopK top_k_;
  // Where the next vector's estimate begins, which then takes its exceedances
  // from what was kept aside while the vector was formed.
  float location_ = kNowhere;
  // Of the last vector, which says what of the next one to keep aside.
  float last_threshold_ = std::numeric_limits<float>::infinity();
};

}  // namespace

std::unique_ptr<Selector> NewSidcoSelector(const SidcoOptions& options,
                                           const TailFamily& family,
                                           SparseKernels* kernels) {
  return std::make_unique<SidcoSelector>(options, family, kernels);
}

}  // namespace ps
