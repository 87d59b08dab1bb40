#include "compressors/sidco_selector.h"

#include <algorithm>
#include <cmath>

#include "common/status_macros.h"
#include "compressors/exact_top_k.h"
#include "compressors/sidco_estimate.h"
#include "compressors/stage_controller.h"

namespace ps {
namespace {

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
      sieve_->Reset(input.u, input.n);
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
    return absl::OkStatus();
  }

  void Save(StateWriter* state) const override { controller_.Save(state); }
  absl::Status Load(StateReader* state) override {
    return controller_.Load(state);
  }

 private:
  absl::Status SelectByEstimate(const SelectorInput& input, int64_t population,
                                double target, Selection* elements,
                                CompressionStats* stats) {
    EstimateRequest request;
    request.population = population;
    request.target = target;
    request.moments = input.moments;
    request.stages = options_.adaptive ? controller_.stages() : options_.stages;
    request.count_correction = options_.count_correction;
    request.first_stage_ratio = options_.first_stage_ratio;
    request.min_exceedances = options_.min_exceedances;
    request.refine_steps = options_.refine_steps;
    request.refine_tolerance = options_.refine_tolerance;
    if (needs_logs_) {
      PS_RETURN_IF_ERROR(
          kernels_->SumLogs(input.u, input.n, &request.sum_logs));
      request.sum_logs +=
          static_cast<double>(population - input.moments.num_nonzero) *
          LogOfZero(input.moments);
    }
    sieve_->Reset(input.u, input.n);
    PS_ASSIGN_OR_RETURN(const ThresholdEstimate estimate,
                        estimator_.Estimate(request, sieve_.get()));
    if (estimate.stages == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(sieve_->SelectAbove(estimate.threshold, elements));
    stats->threshold = estimate.threshold;
    stats->stages = estimate.stages;
    stats->raw_count = elements->size();
    // Where one stage is all that the ratio allows, its quality says nothing
    // about their number. What was refined is judged by what it was before.
    if (target < options_.first_stage_ratio * static_cast<double>(population)) {
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
};

}  // namespace

std::unique_ptr<Selector> NewSidcoSelector(const SidcoOptions& options,
                                           const TailFamily& family,
                                           SparseKernels* kernels) {
  return std::make_unique<SidcoSelector>(options, family, kernels);
}

}  // namespace ps
