// Corrects an estimated threshold by counting the elements above it: a state
// machine between counts, for host and device. The caller decides how to count.
//
// This departs from SIDCo's paper, which trusts its last fit and never looks at
// the exceedances over the last threshold. A count there, among the few
// elements that the stages have left, costs next to nothing.
#ifndef COMPRESSORS_SIDCO_REFINE_STEPS_H_
#define COMPRESSORS_SIDCO_REFINE_STEPS_H_

#include <cmath>
#include <cstdint>

#include "common/host_device.h"
#include "compressors/fits/threshold_formulas.h"
#include "tensor/moments.h"

namespace ps {

struct RefineRequest {
  // The wanted number of elements above the threshold; above 0.
  double target = 0;
  // Stops when the count is within target x (1 +- tolerance), or next to it.
  double tolerance = 0.05;
  int max_counts = 1;  // Number of thresholds tried; at least 1.
  // A lower bound, and its number of exceedances: more than `target`.
  float low = 0;
  int64_t low_count = 0;
  // The estimate, at least `low`.
  float threshold = 0;
  // A guess of the lowest threshold that will be tried; affects speed only.
  float keep_above = 0;
};

struct RefinedThreshold {
  // The tried threshold whose count is nearest to the target by ratio.
  float threshold = 0;
  // The number of elements above the estimate.
  int64_t estimated_count = 0;
  float lowest_tried = 0;
};

// The interval that holds the threshold.
class RefineBracket {
 public:
  // One end of the interval.
  struct End {
    double threshold = 0;
    double excess = 0;  // ln(count / target); above 0 at the lower end.
  };

  PS_HOST_DEVICE void Start(End low) {
    low_ = low;
    has_high_ = false;
    last_moved_ = Moved::kNone;
  }

  // Returns the next threshold to try after a count at `end`; mean_exceedance
  // is the mean excess of the elements above it.
  PS_HOST_DEVICE double Narrow(End end, double mean_exceedance) {
    const bool too_low = end.excess > 0;
    // An end that stays twice is too far off for a straight line; the Illinois
    // variant halves its excess.
    if (too_low) {
      if (last_moved_ == Moved::kLow) high_.excess /= 2;
      low_ = end;
      last_moved_ = Moved::kLow;
    } else {
      if (last_moved_ == Moved::kHigh) low_.excess /= 2;
      high_ = end;
      last_moved_ = Moved::kHigh;
      has_high_ = true;
    }
    if (!has_high_) return low_.threshold + mean_exceedance * low_.excess;
    return low_.threshold + (high_.threshold - low_.threshold) * low_.excess /
                                (low_.excess - high_.excess);
  }

  PS_HOST_DEVICE bool has_high() const { return has_high_; }

  PS_HOST_DEVICE bool Contains(float threshold) const {
    return threshold > low_.threshold &&
           (!has_high_ || threshold < high_.threshold);
  }

  PS_HOST_DEVICE double low() const { return low_.threshold; }

 private:
  enum class Moved { kNone, kLow, kHigh };

  End low_;
  End high_;
  bool has_high_ = false;
  Moved last_moved_ = Moved::kNone;
};

// Refines a threshold. Call Start, then Next with the exceedances over
// threshold() until done().
//
// Tries the estimate first. While no threshold is known to be too high, the
// next one follows from the exponential distribution of the exceedances; after
// that it is where the straight line of ln(count) between the nearest
// thresholds on both sides meets the target (regula falsi, Illinois variant:
// Dowell and Jarratt, BIT 11, 1971).
class RefineSteps {
 public:
  PS_HOST_DEVICE void Start(const RefineRequest& request) {
    request_ = request;
    // Counts are whole numbers.
    const double close_enough = request.tolerance * request.target;
    close_enough_ = close_enough > 0.5 ? close_enough : 0.5;
    bracket_.Start({request.low, Excess(request.low_count)});
    result_ = RefinedThreshold();
    result_.lowest_tried = request.threshold;
    num_counts_ = 0;
    threshold_ = request.threshold;
    done_ = request.max_counts < 1;
    GuessLowest();
  }

  PS_HOST_DEVICE bool done() const { return done_; }
  // The threshold to measure next, and the lowest that will probably follow.
  PS_HOST_DEVICE float threshold() const { return threshold_; }
  PS_HOST_DEVICE float keep_above() const { return keep_above_; }
  PS_HOST_DEVICE const RefinedThreshold& result() const { return result_; }

  // Whether Next reads nothing but the count.
  PS_HOST_DEVICE bool CountSuffices(int64_t count) const {
    const double n = static_cast<double>(count);
    return n <= request_.target || IsClose(n) || bracket_.has_high();
  }

  PS_HOST_DEVICE void Next(const Exceedances& exceedances) {
    const int64_t count = exceedances.count;
    if (num_counts_ == 0) result_.estimated_count = count;
    if (threshold_ < result_.lowest_tried) result_.lowest_tried = threshold_;
    const double excess = Excess(count);
    if (num_counts_ == 0 || std::fabs(excess) < smallest_error_) {
      smallest_error_ = std::fabs(excess);
      result_.threshold = threshold_;
    }
    const double n = static_cast<double>(count);
    if (IsClose(n)) {
      done_ = true;
      return;
    }
    const double mean_exceedance = exceedances.sum / (n > 1.0 ? n : 1.0);
    threshold_ =
        FloatAtMost(bracket_.Narrow({threshold_, excess}, mean_exceedance));
    ++num_counts_;
    // The thresholds are ties or neighbouring floats: no count is nearer.
    done_ =
        !bracket_.Contains(threshold_) || num_counts_ >= request_.max_counts;
    GuessLowest();
  }

 private:
  PS_HOST_DEVICE bool IsClose(double count) const {
    return std::fabs(count - request_.target) <= close_enough_;
  }

  // Returns ln(count / target). A count of 0 is taken as one half, so that the
  // curve of ln(count) still has a slope.
  PS_DEVICE_CALL double Excess(int64_t count) const {
    const double n = static_cast<double>(count);
    return std::log((n > 0.5 ? n : 0.5) / request_.target);
  }

  PS_HOST_DEVICE void GuessLowest() {
    const float middle = static_cast<float>(
        (bracket_.low() + static_cast<double>(threshold_)) / 2);
    keep_above_ = num_counts_ == 0 && request_.keep_above < threshold_
                      ? request_.keep_above
                      : middle;
  }

  RefineRequest request_;
  double close_enough_ = 0.5;
  RefineBracket bracket_;
  RefinedThreshold result_;
  int num_counts_ = 0;
  double smallest_error_ = 0;  // Valid if num_counts_ is not 0.
  float threshold_ = 0;
  float keep_above_ = 0;
  bool done_ = true;
};

}  // namespace ps

#endif  // COMPRESSORS_SIDCO_REFINE_STEPS_H_
