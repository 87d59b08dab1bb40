#include "tools/report/axis.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"

namespace ps {
namespace {

// Powers of ten between two ticks, if there are too many for a tick each.
constexpr int kMostDecades = 10;

// A label is one word.
constexpr char kNoBreakSpace[] = "\u00a0";

// The smallest number of the form 1, 2 or 5 times a power of ten that is at
// least `step`.
double RoundStep(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// A unit for numbers up to `largest`: what to divide them by, and its letter.
struct Unit {
  double size;
  const char* letter;
};

Unit UnitFor(double largest) {
  if (largest >= 1e9) return {1e9, "G"};
  if (largest >= 1e6) return {1e6, "M"};
  if (largest >= 1e4) return {1e3, "k"};
  return {1, ""};
}

// The labels of one axis have one unit and the same number of decimals, as many
// as its step needs.
std::string StepLabel(double value, double step, double largest) {
  if (value == 0) return "0";
  if (largest >= 1e13 || largest < 1e-3) {
    const int digits =
        1 + static_cast<int>(std::ceil(std::log10(largest / step) - 1e-9));
    return absl::StrFormat("%.*g", digits, value);
  }
  const Unit unit = UnitFor(largest);
  const int decimals = std::max(
      0, static_cast<int>(std::ceil(-std::log10(step / unit.size) - 1e-9)));
  return absl::StrFormat("%.*f%s%s", decimals, value / unit.size,
                         *unit.letter == 0 ? "" : kNoBreakSpace, unit.letter);
}

// Label of a logarithmic axis, where each number has one digit.
std::string PowerLabel(double value) {
  if (value >= 1e13 || value < 1e-3 * (1 - 1e-9)) {
    return absl::StrFormat("%.0e", value);
  }
  return StepLabel(value, value, value);
}

}  // namespace

double Axis::Position(double value) const {
  if (!logarithmic) return (value - low) / (high - low);
  if (!(value > 0)) return std::numeric_limits<double>::quiet_NaN();
  return std::log(value / low) / std::log(high / low);
}

Axis LinearAxis(double low, double high, int ticks, bool whole) {
  // A single value gets an axis around it.
  const double smallest = std::max(std::abs(high), 1.0) * 1e-9;
  if (high - low < smallest) {
    const double margin = high == 0 ? 1 : std::abs(high) / 2;
    low -= margin;
    high += margin;
  }
  double step = RoundStep((high - low) / std::max(1, ticks - 1));
  if (whole) step = std::max(1.0, step);
  // Multiplies the step by a count, because a sum of steps would drift.
  const double first = std::floor(low / step + 1e-9);
  const double last = std::ceil(high / step - 1e-9);
  Axis axis;
  const double largest = step * std::max(std::abs(first), std::abs(last));
  for (double i = first; i <= last; ++i) {
    axis.ticks.push_back({i * step, StepLabel(i * step, step, largest)});
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
    axis.ticks.push_back({decade, PowerLabel(decade)});
    if (!fine || power == last) continue;
    for (const double factor : {2.0, 5.0}) {
      axis.ticks.push_back({factor * decade, PowerLabel(factor * decade)});
    }
  }
  axis.low = axis.ticks.front().value;
  axis.high = axis.ticks.back().value;
  return axis;
}

}  // namespace ps
