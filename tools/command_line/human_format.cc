#include "tools/command_line/human_format.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ps {

std::string FormatBytes(int64_t bytes) {
  if (bytes < 0) return absl::StrCat("-", FormatBytes(-bytes));
  if (bytes < 1000) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes);
  const char* unit = "";
  // A value that rounds to 1000 takes the next unit.
  for (const char* next : {"kB", "MB", "GB", "TB", "PB", "EB"}) {
    if (value < 999.5) break;
    value /= 1000;
    unit = next;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return absl::StrFormat("%.*f %s", decimals, value, unit);
}

std::string FormatTimeSpan(absl::Duration duration) {
  if (duration == absl::InfiniteDuration()) return "?";
  if (duration < absl::ZeroDuration()) {
    return absl::StrCat("-", FormatTimeSpan(-duration));
  }
  const double seconds = absl::ToDoubleSeconds(duration);
  if (seconds < 0.9995) return absl::StrFormat("%.0f ms", seconds * 1000);
  if (seconds < 9.95) return absl::StrFormat("%.1f s", seconds);
  // Rounded once, so that 59.7 s is a minute and not "60 s".
  const int64_t whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 60) return absl::StrFormat("%d s", whole);
  if (whole < 3600) return absl::StrFormat("%dm %02ds", whole / 60, whole % 60);
  const int64_t minutes = whole / 60;
  if (minutes < 24 * 60) {
    return absl::StrFormat("%dh %02dm", minutes / 60, minutes % 60);
  }
  const int64_t hours = minutes / 60;
  return absl::StrFormat("%dd %02dh", hours / 24, hours % 24);
}

std::string FormatNumber(double value) {
  const double size = std::abs(value);
  const int decimals = size < 0.9995  ? 3
                       : size < 9.995 ? 2
                       : size < 99.95 ? 1
                                      : 0;
  return absl::StrFormat("%.*f", decimals, value);
}

}  // namespace ps
