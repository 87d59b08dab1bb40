// Figures of merit, as files name them and as people read them.
#ifndef COMMON_METRIC_H_
#define COMMON_METRIC_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ps {

struct Metric {
  std::string name;  // "accuracy", "word_error_rate", "perplexity".
  double value = 0;
};

// Whether people want it in per cent: accuracies and rates.
bool IsFraction(absl::string_view name);

// "test top-5 accuracy" for "test_top5_accuracy".
std::string MetricWords(absl::string_view name);

// "98.70 %", or "84.2101" for what is no fraction.
std::string FormatMetric(absl::string_view name, double value);

}  // namespace ps

#endif  // COMMON_METRIC_H_
