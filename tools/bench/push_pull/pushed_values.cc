#include "tools/bench/push_pull/pushed_values.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace ps {
namespace {

// The lengths of most slices and messages are powers of two. Periods that are
// coprime to them make the values of all of them different.
constexpr int64_t kMeanPeriod = 13;
constexpr int64_t kFirstPeriod = 11;
constexpr double kRounding = 1.0 / (1 << 20);

double Mean(int64_t i) { return static_cast<double>(1 + i % kMeanPeriod); }

double First(int64_t i) { return static_cast<double>(i % kFirstPeriod); }

}  // namespace

void FillPushedValues(int rank, int num_workers, int64_t begin,
                      absl::Span<float> values) {
  const double own = 2.0 * rank - (num_workers - 1);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(Mean(begin + static_cast<int64_t>(i)) + own);
  }
}

void FillFirstWeights(absl::Span<float> weights) {
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<float>(First(static_cast<int64_t>(i)));
  }
}

absl::Status CheckValues(absl::Span<const float> values,
                         const ExpectedValues& expected) {
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i);
    double right = expected.first * First(at);
    if (at % expected.one_of == 0) right += expected.mean * Mean(at);
    // Written so that a NaN fails, too.
    if (std::fabs(values[i] - right) <=
        kRounding * std::max(1.0, std::fabs(right))) {
      continue;
    }
    return absl::DataLossError(absl::StrCat("element ", i, " of ",
                                            values.size(), " is ", values[i],
                                            "; must be ", right));
  }
  return absl::OkStatus();
}

}  // namespace ps
