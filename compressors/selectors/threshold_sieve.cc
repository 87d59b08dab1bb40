#include "compressors/selectors/threshold_sieve.h"

#include <algorithm>

#include "common/status_macros.h"

namespace ps {
namespace {

// The lowest threshold prepared for on the next vector, relative to the
// threshold of this one.
constexpr float kGuessMargin = 0.9f;

}  // namespace

ThresholdSieve::ThresholdSieve(SparseKernels* kernels)
    : kernels_(kernels), sieve_(kernels->NewSieve()), top_k_(kernels) {}

absl::Status ThresholdSieve::RunOnDevice(
    const DeviceThresholdRequest& request) {
  if (device_ == nullptr) {
    PS_ASSIGN_OR_RETURN(device_, NewDeviceThreshold(kernels_->device_work()));
  }
  return device_->Run(request, &on_device_);
}

absl::Status ThresholdSieve::AddAndMeasure(const float* residual,
                                           const float* gradient, int64_t n,
                                           const ThresholdQuery& query,
                                           float* out, Moments* moments) {
  formed_ = nullptr;
  found_ = nullptr;
  const bool fixed =
      query.rule.kind == ThresholdRule::Kind::kFixed && query.sample.k == 0;
  const float fixed_at = FloatAtMost(std::max(0.0, query.rule.threshold));
  if (n > 0 && kernels_->device_work() != nullptr) {
    DeviceThresholdRequest request;
    request.residual = residual;
    request.gradient = gradient;
    request.u = out;
    request.n = n;
    request.rule = query.rule;
    request.sample = query.sample;
    request.keep_above = fixed ? fixed_at : guess_;
    request.capacity = DeviceSelectionCapacity(n, query.likely_count);
    PS_RETURN_IF_ERROR(RunOnDevice(request));
    *moments = on_device_.moments;
    found_ = out;
    return absl::OkStatus();
  }
  SieveGuess guess;
  if (fixed) guess.keep_above = fixed_at;
  guess.needs_sums = query.rule.NeedsSums();
  PS_RETURN_IF_ERROR(
      sieve_->ResetToSum(residual, gradient, n, guess, out, moments));
  formed_ = out;
  return absl::OkStatus();
}

absl::Status ThresholdSieve::Search(const SelectorInput& input,
                                    const ThresholdRule& rule,
                                    float* threshold) {
  double sum = 0;
  if (rule.of_signed) {
    PS_RETURN_IF_ERROR(kernels_->SumValues(input.u, input.n, &sum));
  }
  ThresholdSteps steps;
  steps.Start(rule, input.n, input.moments, sum);
  while (steps.asks()) {
    const float location = steps.location();
    Exceedances exceedances;
    PS_RETURN_IF_ERROR(sieve_->MeasureAbove(location, location, &exceedances));
    steps.Next(exceedances.count);
  }
  *threshold = steps.location();
  return absl::OkStatus();
}

absl::Status ThresholdSieve::SelectAll(const SelectorInput& input,
                                       const ThresholdRule& rule,
                                       Selected* selected,
                                       CompressionStats* stats) {
  const bool found = Found(input.u);
  found_ = nullptr;
  if (formed_ != input.u) sieve_->Reset(input.u, input.n);
  formed_ = nullptr;
  float threshold = on_device_.threshold;
  if (!found) PS_RETURN_IF_ERROR(Search(input, rule, &threshold));
  if (found && on_device_.selection.count == on_device_.num_selected) {
    selected->on_device = on_device_.selection;
  } else {
    // On the CPU, or if the device has selected more elements than it has space
    // for.
    PS_RETURN_IF_ERROR(sieve_->SelectAbove(threshold, &selected->elements));
  }
  if (threshold > 0) guess_ = kGuessMargin * threshold;
  stats->threshold = threshold;
  stats->raw_count = selected->count();
  return absl::OkStatus();
}

absl::Status ThresholdSieve::Select(const SelectorInput& input,
                                    const ThresholdRule& rule,
                                    Selected* selected,
                                    CompressionStats* stats) {
  PS_RETURN_IF_ERROR(SelectAll(input, rule, selected, stats));
  if (stats->raw_count > 0 || input.moments.num_nonzero == 0) {
    return absl::OkStatus();
  }
  stats->fallback = "empty";
  return top_k_.Select(input.u, input.n,
                       std::min(stats->target_count, input.moments.num_nonzero),
                       selected, &stats->threshold);
}

absl::Status ThresholdSieve::Trim(const SelectorInput& input, int64_t k,
                                  const char* why, Selected* selected,
                                  CompressionStats* stats) {
  if (selected->count() <= k) return absl::OkStatus();
  stats->fallback = why;
  return top_k_.Trim(input.u, input.n, k, selected, &stats->threshold);
}

}  // namespace ps
