#include "compressors/threshold_refine.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/status_macros.h"
#include "compressors/threshold_fit.h"

namespace ps {
namespace {

// One end of the interval that holds the threshold.
struct End {
  double threshold = 0;
  double excess = 0;  // ln(count / target); above 0 at the lower end.
};

// ln(count / target). No count as half of one: the curve of ln(count) then
// still has a slope.
double Excess(int64_t count, double target) {
  return std::log(std::max(static_cast<double>(count), 0.5) / target);
}

class Bracket {
 public:
  explicit Bracket(End low) : low_(low) {}

  // The next threshold to try, after a count at `end`; mean_exceedance is the
  // mean of what exceeds it.
  double Narrow(End end, double mean_exceedance) {
    const bool too_low = end.excess > 0;
    // An end that stays twice is too far off for a straight line: Illinois.
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

  bool Contains(float threshold) const {
    return threshold > low_.threshold &&
           (!has_high_ || threshold < high_.threshold);
  }

  double low() const { return low_.threshold; }

 private:
  enum class Moved { kNone, kLow, kHigh };

  End low_;
  End high_;
  bool has_high_ = false;
  Moved last_moved_ = Moved::kNone;
};

}  // namespace

absl::StatusOr<RefinedThreshold> RefineThreshold(const RefineRequest& request,
                                                 Sieve* sieve) {
  const double target = request.target;
  // Counts are whole numbers.
  const double close_enough = std::max(0.5, request.tolerance * target);
  Bracket bracket({request.low, Excess(request.low_count, target)});
  RefinedThreshold result;
  result.lowest_tried = request.threshold;
  double smallest_error = std::numeric_limits<double>::infinity();
  float threshold = request.threshold;
  for (int i = 0; i < request.max_counts; ++i) {
    const float middle =
        static_cast<float>((bracket.low() + double{threshold}) / 2);
    const float keep_above =
        i == 0 && request.keep_above < threshold ? request.keep_above : middle;
    Exceedances exceedances;
    PS_RETURN_IF_ERROR(
        sieve->MeasureAbove(threshold, keep_above, &exceedances));
    const int64_t count = exceedances.count;
    if (i == 0) result.estimated_count = count;
    result.lowest_tried = std::min(result.lowest_tried, threshold);
    const double excess = Excess(count, target);
    if (std::abs(excess) < smallest_error) {
      smallest_error = std::abs(excess);
      result.threshold = threshold;
    }
    if (std::abs(static_cast<double>(count) - target) <= close_enough) break;
    const double mean_exceedance =
        exceedances.sum / std::max(1.0, static_cast<double>(count));
    threshold =
        FloatAtMost(bracket.Narrow({threshold, excess}, mean_exceedance));
    // Ties, or an interval of neighbouring floats: no count is nearer.
    if (!bracket.Contains(threshold)) break;
  }
  return result;
}

}  // namespace ps
