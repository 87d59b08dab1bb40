// Formats metrics, and converts their names in files to words.
#ifndef COMMON_METRIC_H_
#define COMMON_METRIC_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ps {

struct Metric {
  std::string name;  // "accuracy", "word_error_rate", "perplexity".
  double value = 0;
};

// Whether the metric is shown as a percentage: accuracies and rates are.
bool IsFraction(absl::string_view name);

// Returns "test top-5 accuracy" for "test_top5_accuracy".
std::string MetricWords(absl::string_view name);

// Returns "98.70 %" for a fraction, "84.2101" for any other metric.
std::string FormatMetric(absl::string_view name, double value);

// Returns four decimals, "0.2312", or for a diverged loss an exponent,
// "1.219e+22".
std::string FormatLoss(double loss);

}  // namespace ps

#endif  // COMMON_METRIC_H_
