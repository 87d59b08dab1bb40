#include "tools/influence/factors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ps {
namespace {

// So many sums side by side let the compiler use vectors.
constexpr size_t kLanes = 8;

}  // namespace

double DotProduct(absl::Span<const float> a, absl::Span<const float> b) {
  double lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= a.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += static_cast<double>(a[i + lane]) * b[i + lane];
    }
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  for (; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

double FactoredProduct(const Factors& a, const Factors& b, bool with_bias) {
  return DotProduct(a.error, b.error) *
         (DotProduct(a.activation, b.activation) + (with_bias ? 1 : 0));
}

ClassLoss SoftmaxLoss(absl::Span<const float> logits, int32_t label) {
  const auto largest = std::max_element(logits.begin(), logits.end());
  // Subtracting the largest keeps exp from overflowing.
  const double max = *largest;
  double others = 0;  // Of the labels, apart from the example's own.
  for (size_t i = 0; i < logits.size(); ++i) {
    if (i != static_cast<size_t>(label)) others += std::exp(logits[i] - max);
  }
  const double sum = others + std::exp(logits[label] - max);
  ClassLoss result;
  result.loss = std::log(sum) + max - logits[label];
  result.predicted = static_cast<int32_t>(largest - logits.begin());
  for (const float logit : logits) {
    result.error.push_back(static_cast<float>(std::exp(logit - max) / sum));
  }
  // The probability may be so near 1 that their difference has no digits left.
  result.error[label] = static_cast<float>(-others / sum);
  return result;
}

}  // namespace ps
