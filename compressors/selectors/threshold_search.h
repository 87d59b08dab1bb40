// Finds the thresholds of RedSync and GaussianKSGD by repeated counting, for
// host and device.
//
// Fang, Fu, Yang, Hsieh, "RedSync: Reducing synchronization bandwidth for
// distributed deep learning training system", arXiv 1808.04357. Shi, Chu,
// Cheung, See, "Understanding Top-k Sparsification in Distributed Deep
// Learning", arXiv 1911.08772, and its authors' code.
#ifndef COMPRESSORS_SELECTORS_THRESHOLD_SEARCH_H_
#define COMPRESSORS_SELECTORS_THRESHOLD_SEARCH_H_

#include <cmath>
#include <cstdint>

#include "common/host_device.h"
#include "compressors/fits/threshold_formulas.h"
#include "tensor/moments.h"

namespace ps {

struct ThresholdRule {
  enum class Kind {
    kFixed,      // The given `threshold`.
    kBisection,  // RedSync's; three trials with the step of its authors' code.
    kDescent,    // RedSync's search, from the largest magnitude down.
    kNormal,     // GaussianKSGD's: a normal quantile, corrected.
  };
  Kind kind = Kind::kFixed;
  double threshold = 0;
  int64_t k = 0;  // For all other kinds: the number of elements wanted.
  // For RedSync: the step, as a fraction of the distance between the mean and
  // the largest magnitude. At least 1e-6.
  double step = 1;
  // For bisection: whether a threshold that selects between k / 2 and k counts
  // as selecting too few.
  bool fixed_step = false;
  // For GaussianKSGD: the maximum number of thresholds tried, including the
  // final one; the value that k / 2 of n standard normal draws exceed; and
  // whether the distribution is fitted to the elements (otherwise: to their
  // magnitudes).
  int evaluations = 1;
  double quantile = 0;
  bool of_signed = false;

  // Whether the sums of the moments are used.
  PS_HOST_DEVICE bool NeedsSums() const { return kind != Kind::kFixed; }
};

// Call Start, then Next with the number of magnitudes above threshold() for as
// long as asks() is true.
class ThresholdSteps {
 public:
  // Starts a search. sum: the sum of the elements, if rule.of_signed. n: at
  // least 2; all are finite.
  PS_HOST_DEVICE void Start(const ThresholdRule& rule, int64_t n,
                            const Moments& moments, double sum) {
    rule_ = rule;
    threshold_ = 0;
    asks_ = false;
    if (rule.kind == ThresholdRule::Kind::kFixed) {
      threshold_ = rule.threshold;
      return;
    }
    tried_ = 0;
    if (rule.kind == ThresholdRule::Kind::kNormal) {
      const double count = static_cast<double>(n);
      const double mean = (rule.of_signed ? sum : moments.sum) / count;
      const double variance =
          (moments.sum_squares - count * mean * mean) / (count - 1);
      threshold_ =
          mean + std::sqrt(variance > 0 ? variance : 0.0) * rule.quantile;
      return Correct(1);
    }
    mean_ = moments.sum / static_cast<double>(n);
    reach_ = moments.max - mean_;
    low_ = 0;
    high_ = 1;
    Try();
  }

  // The threshold to count above; at the end, the result. A negative value
  // counts as 0.
  PS_HOST_DEVICE double threshold() const { return threshold_; }
  // A magnitude exceeds this float if and only if it exceeds threshold().
  PS_HOST_DEVICE float location() const {
    return FloatAtMost(threshold_ > 0 ? threshold_ : 0.0);
  }
  PS_HOST_DEVICE bool asks() const { return asks_; }

  // Takes the number of magnitudes above threshold().
  PS_HOST_DEVICE void Next(int64_t count) {
    asks_ = false;
    ++tried_;
    const int64_t k = rule_.k;
    switch (rule_.kind) {
      case ThresholdRule::Kind::kFixed:
        return;
      case ThresholdRule::Kind::kNormal:
        if (3 * count < 2 * k) return Correct(0.5);
        if (3 * count > 4 * k) return Correct(1.5);
        return;
      case ThresholdRule::Kind::kBisection:
        if (k < count && count < 2 * k) return;
        // The authors' code treats a threshold that selects between k / 2 and k
        // as one that selects too many.
        if (rule_.fixed_step ? count <= k : 2 * count < k) {
          high_ = place_;
        } else {
          low_ = place_;
        }
        return Try();
      case ThresholdRule::Kind::kDescent:
        if (count >= k) return;
        return Try();
    }
  }

 private:
  // Corrects the normal distribution's threshold; asks for a count unless it
  // was the last that may be tried. The elements above the last threshold are
  // sent, so a correction after it would not be used.
  PS_HOST_DEVICE void Correct(double factor) {
    threshold_ *= factor;
    asks_ = tried_ + 1 < rule_.evaluations;
  }

  // Moves to RedSync's next threshold.
  PS_HOST_DEVICE void Try() {
    if (rule_.kind == ThresholdRule::Kind::kBisection) {
      // The last threshold tried is final.
      if (!(high_ - low_ > rule_.step)) return;
      place_ = (low_ + high_) / 2;
    } else {
      constexpr double kRounding = 1e-9;
      place_ = 1 - static_cast<double>(tried_ + 1) * rule_.step;
      if (!(place_ > -kRounding)) {
        // Fewer than k magnitudes exceed even the mean: take 0. The authors'
        // code continues below the mean in the same steps, without a limit on
        // their number.
        threshold_ = 0;
        return;
      }
    }
    threshold_ = mean_ + place_ * reach_;
    asks_ = true;
  }

  ThresholdRule rule_;
  double threshold_ = 0;
  bool asks_ = false;
  int64_t tried_ = 0;  // Thresholds counted so far.
  // RedSync's position 0 is the mean, 1 the largest magnitude.
  double mean_ = 0;
  double reach_ = 0;  // The distance between the two.
  double low_ = 0;
  double high_ = 1;
  double place_ = 0;
};

}  // namespace ps

#endif  // COMPRESSORS_SELECTORS_THRESHOLD_SEARCH_H_
