#include "compressors/value_codes/fitted_levels.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "compressors/value_codes/levels.h"

namespace ps {
namespace {

// The sample in ascending order, with sums over its first k elements.
class SortedSample {
 public:
  explicit SortedSample(std::vector<WeightedMagnitude> sample) {
    std::sort(sample.begin(), sample.end(),
              [](const WeightedMagnitude& a, const WeightedMagnitude& b) {
                return a.magnitude < b.magnitude;
              });
    weights_.push_back(0);
    moments_.push_back(0);
    for (const WeightedMagnitude& each : sample) {
      magnitudes_.push_back(each.magnitude);
      weights_.push_back(weights_.back() + each.weight);
      moments_.push_back(moments_.back() + each.weight * each.magnitude);
    }
  }

  // The best level between its neighbours a < c, or `level` if no element lies
  // between those. The error is convex and piecewise linear in the level, with
  // corners at the elements x, and no longer falls where the weight below the
  // level has come to the sum of weight (c - x) / (c - a) over a < x < c.
  float BestBetween(double a, double c, float level) const {
    const size_t begin = FirstAbove(a);
    const size_t end = static_cast<size_t>(
        std::lower_bound(magnitudes_.begin(), magnitudes_.end(), c) -
        magnitudes_.begin());
    if (begin >= end) return level;
    const double weight = weights_[end] - weights_[begin];
    const double moment = moments_[end] - moments_[begin];
    const double enough = weights_[begin] + (c * weight - moment) / (c - a);
    const auto first = weights_.begin() + begin + 1;
    const auto best = std::lower_bound(first, weights_.begin() + end, enough);
    return magnitudes_[begin + (best - first)];
  }

 private:
  size_t FirstAbove(double x) const {
    return static_cast<size_t>(
        std::upper_bound(magnitudes_.begin(), magnitudes_.end(), x) -
        magnitudes_.begin());
  }

  std::vector<float> magnitudes_;
  std::vector<double> weights_;  // [k]: of the first k elements,
  std::vector<double> moments_;  // and of weight x magnitude.
};

}  // namespace

std::vector<float> FitLevels(std::vector<WeightedMagnitude> sample, int s,
                             int sweeps) {
  const SortedSample sorted(std::move(sample));
  std::vector<float> levels(s + 1);
  for (int i = 0; i <= s; ++i) levels[i] = ExponentialLevels::Value(i, s);
  bool moved = true;
  for (int sweep = 0; sweep < sweeps && moved; ++sweep) {
    moved = false;
    // Downward, so that levels far below all magnitudes rise among them in the
    // first sweep, each after the one above it.
    for (int i = s - 1; i >= 1; --i) {
      const float best =
          sorted.BestBetween(levels[i - 1], levels[i + 1], levels[i]);
      moved |= best != levels[i];
      levels[i] = best;
    }
  }
  return levels;
}

}  // namespace ps
