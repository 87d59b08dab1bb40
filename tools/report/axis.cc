#include "tools/report/axis.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
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

// What numbers are divided by, and its name.
struct Scale {
  double size = 1;
  const char* name = "";
};

// For an axis whose largest number is this.
Scale ScaleFor(double largest, AxisUnit unit) {
  switch (unit) {
    case AxisUnit::kNone:
      if (largest >= 1e9) return {1e9, "G"};
      if (largest >= 1e6) return {1e6, "M"};
      if (largest >= 1e4) return {1e3, "k"};
      return {1, ""};
    case AxisUnit::kBytes:
      if (largest >= 1e15) return {1e15, "PB"};
      if (largest >= 1e12) return {1e12, "TB"};
      if (largest >= 1e9) return {1e9, "GB"};
      if (largest >= 1e6) return {1e6, "MB"};
      if (largest >= 1e3) return {1e3, "kB"};
      return {1, "B"};
    case AxisUnit::kSeconds:
      break;
  }
  if (largest > 4 * 86400) return {86400, "d"};
  if (largest > 4 * 3600) return {3600, "h"};
  if (largest > 600) return {60, "min"};
  return {1, "s"};
}

std::string WithName(const std::string& number, const char* name) {
  return *name == 0 ? number : absl::StrCat(number, kNoBreakSpace, name);
}

std::string PowerOfTen(int exponent) {
  constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴",
                                     "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string power = "10";
  if (exponent < 0) power += "⁻";
  for (const char digit : absl::StrCat(std::abs(exponent))) {
    power += kDigits[digit - '0'];
  }
  return power;
}

// As many decimals as a step needs.
int DecimalsFor(double step) {
  return std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
}

// The labels of one axis have one unit and the same number of decimals.
std::string StepLabel(double value, double step, double largest,
                      AxisUnit unit) {
  if (value == 0) return "0";
  if (unit == AxisUnit::kNone && (largest >= 1e13 || largest < 1e-3)) {
    const int exponent = static_cast<int>(std::floor(std::log10(largest)));
    const double power = std::pow(10.0, exponent);
    return absl::StrFormat("%.*f·%s", DecimalsFor(step / power), value / power,
                           PowerOfTen(exponent));
  }
  const Scale scale = ScaleFor(largest, unit);
  return WithName(absl::StrFormat("%.*f", DecimalsFor(step / scale.size),
                                  value / scale.size),
                  scale.name);
}

// Labels of a logarithmic axis, where each number has one digit.
std::string FactorLabel(double factor, int exponent, bool as_power,
                        AxisUnit unit) {
  const double value = factor * std::pow(10.0, exponent);
  if (unit == AxisUnit::kBytes) {
    const Scale scale = ScaleFor(value * (1 + 1e-9), unit);
    return WithName(absl::StrFormat("%.6g", value / scale.size), scale.name);
  }
  std::string number = absl::StrFormat("%.6g", value);
  if (as_power) {
    number = PowerOfTen(exponent);
    if (factor != 1) number = absl::StrFormat("%.0f·%s", factor, number);
  }
  return WithName(number, unit == AxisUnit::kSeconds ? "s" : "");
}

}  // namespace

double Axis::Position(double value) const {
  if (!logarithmic) return (value - low) / (high - low);
  if (!(value > 0)) return std::numeric_limits<double>::quiet_NaN();
  return std::log(value / low) / std::log(high / low);
}

Axis LinearAxis(double low, double high, const LinearAxisOptions& options) {
  // A single value gets an axis around it.
  const double smallest = std::max(std::abs(high), 1.0) * 1e-9;
  if (high - low < smallest) {
    const double margin = high == 0 ? 1 : std::abs(high) / 2;
    low -= margin;
    high += margin;
  }
  // Minutes are no power of ten of seconds.
  const double size = options.unit == AxisUnit::kSeconds
                          ? ScaleFor(high, options.unit).size
                          : 1;
  double step =
      RoundStep((high - low) / size / std::max(1, options.ticks - 1)) * size;
  if (options.whole) step = std::max(1.0, step);
  // Multiplies the step by a count, because a sum of steps would drift.
  const double first = std::floor(low / step + 1e-9);
  const double last = std::ceil(high / step - 1e-9);
  Axis axis;
  const double largest = options.unit == AxisUnit::kSeconds
                             ? high
                             : step * std::max(std::abs(first), std::abs(last));
  for (double i = first; i <= last; ++i) {
    axis.ticks.push_back(
        {i * step, StepLabel(i * step, step, largest, options.unit)});
  }
  axis.low = first * step;
  axis.high = last * step;
  return axis;
}

Axis LogarithmicAxis(double low, double high, AxisUnit unit) {
  Axis axis;
  axis.logarithmic = true;
  int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  int last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
  if (first == last) ++last;
  const bool fine = last - first <= 2;
  const int every = (last - first + kMostDecades - 1) / kMostDecades;
  // Both ends are ticks.
  first -= ((first - last) % every + every) % every;
  const bool as_power = first < -4 || last > 5;
  for (int power = first; power <= last; power += every) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && (!fine || power == last)) break;
      axis.ticks.push_back({factor * std::pow(10.0, power),
                            FactorLabel(factor, power, as_power, unit)});
    }
  }
  axis.low = axis.ticks.front().value;
  axis.high = axis.ticks.back().value;
  return axis;
}

}  // namespace ps
