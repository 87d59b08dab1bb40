#include "tools/bench/network/bandwidth.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"

namespace ps {
namespace {

struct Unit {
  const char* suffix;
  const char* name;
  double bits_per_second;
};

constexpr Unit kUnits[] = {
    {"gbit", "Gbit/s", 1e9},
    {"mbit", "Mbit/s", 1e6},
    {"kbit", "kbit/s", 1e3},
};

}  // namespace

absl::StatusOr<int64_t> ParseBandwidth(absl::string_view text) {
  for (const Unit& unit : kUnits) {
    absl::string_view number = text;
    double value = 0;
    if (!absl::ConsumeSuffix(&number, unit.suffix) ||
        !absl::SimpleAtod(number, &value)) {
      continue;
    }
    const double bits = std::round(value * unit.bits_per_second);
    // Also false for NaN.
    if (bits >= kMinBitsPerSecond && bits <= kMaxBitsPerSecond) {
      return static_cast<int64_t>(bits);
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text,
      "\"; must be a number with its unit, kbit, mbit or gbit, as in "
      "\"100mbit\", from 1mbit to 100gbit"));
}

absl::StatusOr<std::vector<int64_t>> ParseBandwidths(absl::string_view text) {
  std::vector<int64_t> bandwidths;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    PS_ASSIGN_OR_RETURN(const int64_t bandwidth, ParseBandwidth(part));
    bandwidths.push_back(bandwidth);
  }
  return bandwidths;
}

std::string FormatBandwidth(double bits_per_second) {
  const Unit* unit = &kUnits[2];
  // A value that rounds to 1000 takes the next unit.
  for (const Unit& each : kUnits) {
    if (bits_per_second >= 0.9995 * each.bits_per_second) {
      unit = &each;
      break;
    }
  }
  const double value = bits_per_second / unit->bits_per_second;
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return absl::StrFormat("%.*f %s", decimals, value, unit->name);
}

}  // namespace ps
