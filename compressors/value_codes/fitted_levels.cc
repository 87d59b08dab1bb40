#include "compressors/value_codes/fitted_levels.h"

#include <algorithm>
#include <utility>

#include "compressors/value_codes/levels.h"

namespace ps {
namespace {

struct SampleSums {
  double weight = 0;
  double moment = 0;  // The sum of weight x magnitude.

  void Add(uint64_t weighted) {
    const double more = WeightOf(weighted);
    weight += more;
    moment += more * static_cast<double>(MagnitudeOf(weighted));
  }
  void Add(const SampleSums& other) {
    weight += other.weight;
    moment += other.moment;
  }
};

// A sample in ascending order, with sums[k] over its first k elements.
class SortedSample {
 public:
  explicit SortedSample(std::vector<uint64_t> sample)
      : elements_(std::move(sample)), sums_(elements_.size() + 1) {
    std::sort(elements_.begin(), elements_.end());
    // The sums before an element are those of the earlier runs of 64, added in
    // order, plus those of the elements before it in its own run. So they never
    // decrease.
    constexpr size_t kRun = 64;
    SampleSums before;
    SampleSums run;
    for (size_t i = 0; i < elements_.size(); ++i) {
      if (i % kRun == 0) {
        before.Add(run);
        run = SampleSums();
      }
      sums_[i] = before;
      sums_[i].Add(run);
      run.Add(elements_[i]);
    }
    before.Add(run);
    sums_.back() = before;
  }

  // Returns the best level between its neighbours a < c, or `level` if no
  // element lies strictly between them. The error is convex and piecewise
  // linear in the level, with corners at the elements x. It stops falling where
  // the total weight below the level reaches the sum of weight (c - x) / (c -
  // a) over a < x < c.
  float BestBetween(float a, float c, float level) const {
    const auto begin = std::partition_point(
        elements_.begin(), elements_.end(),
        [&](uint64_t element) { return MagnitudeOf(element) <= a; });
    const auto end = std::partition_point(
        begin, elements_.end(),
        [&](uint64_t element) { return MagnitudeOf(element) < c; });
    if (begin >= end) return level;
    const auto first = sums_.begin() + (begin - elements_.begin());
    const auto last = sums_.begin() + (end - elements_.begin());
    const double weight = last->weight - first->weight;
    const double moment = last->moment - first->moment;
    const double high = c;
    const double enough = first->weight + (high * weight - moment) /
                                              (high - static_cast<double>(a));
    const auto best = std::partition_point(
        first + 1, last,
        [&](const SampleSums& sums) { return sums.weight < enough; });
    return MagnitudeOf(begin[best - first - 1]);
  }

 private:
  std::vector<uint64_t> elements_;
  std::vector<SampleSums> sums_;
};

}  // namespace

std::vector<float> FitLevels(std::vector<uint64_t> sample, int s, int sweeps) {
  const SortedSample sorted(std::move(sample));
  std::vector<float> levels(s + 1);
  for (int i = 0; i <= s; ++i) levels[i] = ExponentialLevels::Value(i, s);
  bool moved = true;
  for (int sweep = 0; sweep < sweeps && moved; ++sweep) {
    moved = false;
    // Sweep downward, so that levels far below all magnitudes move up among
    // them in the first sweep, each after the one above it.
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
