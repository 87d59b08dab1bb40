#include "common/metric.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace ps {

bool IsFraction(absl::string_view name) {
  return absl::EndsWith(name, "accuracy") || absl::EndsWith(name, "_rate");
}

std::string MetricWords(absl::string_view name) {
  return absl::StrReplaceAll(name, {{"top5", "top-5"}, {"_", " "}});
}

std::string FormatMetric(absl::string_view name, double value) {
  return IsFraction(name) ? absl::StrFormat("%.2f %%", 100 * value)
                          : FormatLoss(value);
}

std::string FormatLoss(double loss) {
  return std::abs(loss) < 1e6 ? absl::StrFormat("%.4f", loss)
                              : absl::StrFormat("%.4g", loss);
}

}  // namespace ps
