#include "tools/report/axis.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"

namespace ps {
namespace {

// Powers of ten between two ticks, if there are too many for one each.
constexpr int kMostDecades = 10;

// 1, 2 or 5 times a power of ten, the smallest that is at least `step`.
double RoundStep(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

}  // namespace

double Axis::Position(double value) const {
  if (!logarithmic) return (value - low) / (high - low);
  if (!(value > 0)) return std::numeric_limits<double>::quiet_NaN();
  return std::log(value / low) / std::log(high / low);
}

Axis LinearAxis(double low, double high, int ticks) {
  // A single value gets an axis around it.
  const double smallest = std::max(std::abs(high), 1.0) * 1e-9;
  if (high - low < smallest) {
    const double margin = high == 0 ? 1 : std::abs(high) / 2;
    low -= margin;
    high += margin;
  }
  const double step = RoundStep((high - low) / std::max(1, ticks - 1));
  // Counted, not added up: a sum of steps would drift.
  const double first = std::floor(low / step + 1e-9);
  const double last = std::ceil(high / step - 1e-9);
  Axis axis;
  for (double i = first; i <= last; ++i) {
    axis.ticks.push_back({i * step, AxisLabel(i * step)});
  }
  axis.low = first * step;
  axis.high = last * step;
  return axis;
}

Axis LogarithmicAxis(double low, double high) {
  Axis axis;
  axis.logarithmic = true;
  int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  int last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
  if (first == last) ++last;
  const bool fine = last - first <= 2;
  const int every = (last - first + kMostDecades - 1) / kMostDecades;
  // Both ends are ticks.
  first -= ((first - last) % every + every) % every;
  for (int power = first; power <= last; power += every) {
    const double decade = std::pow(10.0, power);
    axis.ticks.push_back({decade, AxisLabel(decade)});
    if (!fine || power == last) continue;
    for (const double factor : {2.0, 5.0}) {
      axis.ticks.push_back({factor * decade, AxisLabel(factor * decade)});
    }
  }
  axis.low = axis.ticks.front().value;
  axis.high = axis.ticks.back().value;
  return axis;
}

std::string AxisLabel(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  // A no-break space: a label is one word.
  constexpr char kSpace[] = "\u00a0";
  if (size >= 1e13 || size < 1e-4) return absl::StrFormat("%.3g", value);
  if (size >= 1e9) return absl::StrFormat("%.3g%sG", value / 1e9, kSpace);
  if (size >= 1e6) return absl::StrFormat("%.3g%sM", value / 1e6, kSpace);
  if (size >= 1e4) return absl::StrFormat("%.3g%sk", value / 1e3, kSpace);
  if (size >= 1e3) return absl::StrFormat("%.0f", value);
  return absl::StrFormat("%.3g", value);
}

}  // namespace ps
