#include "compressors/selectors/threshold_sieve.h"

#include <algorithm>

#include "common/status_macros.h"

namespace ps {
namespace {

// The lowest threshold that the next vector is prepared for, relative to the
// threshold of this one.
constexpr float kGuessMargin = 0.9f;

}  // namespace

ThresholdSieve::ThresholdSieve(SparseKernels* kernels)
    : kernels_(kernels), sieve_(kernels->NewSieve()), top_k_(kernels) {}

absl::Status ThresholdSieve::Form(const SelectorInput& input,
                                  const ThresholdQuery& query,
                                  CompressionStats* stats) {
  input_ = input;
  const bool fixed =
      query.rule.kind == ThresholdRule::Kind::kFixed && query.sample.k == 0;
  const float fixed_at = FloatAtMost(std::max(0.0, query.rule.threshold));
  found_ = kernels_->device_work() != nullptr;
  if (found_) {
    DeviceThresholdRequest request;
    request.sum = {input.residual, input.gradient, input.u, input.n};
    request.rule = query.rule;
    request.sample = query.sample;
    request.keep_above = fixed ? fixed_at : guess_;
    request.capacity = DeviceSelectionCapacity(input.n, query.likely_count);
    request.likely_count = query.likely_count;
    PS_RETURN_IF_ERROR(SearchOnDevice(request, kernels_->device_work(),
                                      &device_, &on_device_));
    moments_ = on_device_.moments;
  } else {
    SieveGuess guess;
    guess.keep_above = fixed ? fixed_at : guess_;
    if (!query.rule.NeedsSums()) guess.sums = SieveGuess::Sums::kNone;
    PS_RETURN_IF_ERROR(sieve_->ResetToSum(input.residual, input.gradient,
                                          input.n, guess, input.u, &moments_));
  }
  stats->non_finite = moments_.num_non_finite > 0;
  return absl::OkStatus();
}

absl::Status ThresholdSieve::Search(const ThresholdRule& rule,
                                    float* threshold) {
  double sum = 0;
  if (rule.of_signed) {
    PS_RETURN_IF_ERROR(kernels_->SumValues(input_.u, input_.n, &sum));
  }
  ThresholdSteps steps;
  steps.Start(rule, input_.n, moments_, sum);
  while (steps.asks()) {
    const float location = steps.location();
    int64_t count = 0;
    PS_RETURN_IF_ERROR(sieve_->CountAbove(location, location, &count));
    steps.Next(count);
  }
  *threshold = steps.location();
  return absl::OkStatus();
}

absl::Status ThresholdSieve::SelectAll(const ThresholdRule& rule,
                                       Selected* selected,
                                       CompressionStats* stats) {
  float threshold = on_device_.threshold;
  if (!found_) PS_RETURN_IF_ERROR(Search(rule, &threshold));
  if (found_ && on_device_.selection != nullptr) {
    selected->on_device = on_device_.selection;
  } else {
    // This happens on the CPU, or if the device has selected more elements than
    // its buffer holds.
    if (found_) sieve_->Reset(input_.u, input_.n);
    PS_RETURN_IF_ERROR(sieve_->SelectAbove(threshold, &selected->elements));
  }
  if (threshold > 0) guess_ = kGuessMargin * threshold;
  stats->threshold = threshold;
  stats->raw_count = selected->count();
  return absl::OkStatus();
}

absl::Status ThresholdSieve::Select(const ThresholdRule& rule,
                                    Selected* selected,
                                    CompressionStats* stats) {
  PS_RETURN_IF_ERROR(SelectAll(rule, selected, stats));
  if (stats->raw_count > 0 || moments_.num_nonzero == 0) {
    return absl::OkStatus();
  }
  stats->fallback = "empty";
  return top_k_.Select(input_.u, input_.n,
                       std::min(input_.target_count, moments_.num_nonzero),
                       selected, &stats->threshold);
}

absl::Status ThresholdSieve::Trim(int64_t k, const char* why,
                                  Selected* selected, CompressionStats* stats) {
  if (selected->count() <= k) return absl::OkStatus();
  stats->fallback = why;
  return top_k_.Trim(input_.u, input_.n, k, selected, &stats->threshold);
}

}  // namespace ps
