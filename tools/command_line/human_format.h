// Numbers as people read them.
#ifndef TOOLS_COMMAND_LINE_HUMAN_FORMAT_H_
#define TOOLS_COMMAND_LINE_HUMAN_FORMAT_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
// FormatCount.
#include "common/counted.h"

namespace ps {

// Three digits and a decimal unit: "999 B", "1.00 kB", "12.3 MB".
std::string FormatBytes(int64_t bytes);

// The two largest units: "850 ms", "4.2 s", "2m 10s", "3h 05m", "2d 03h". "?"
// for an infinite duration.
std::string FormatTimeSpan(absl::Duration duration);

// Three digits, or all before the point, without an exponent: "0.123", "1.23",
// "12.3", "1234".
std::string FormatNumber(double value);

}  // namespace ps

#endif  // TOOLS_COMMAND_LINE_HUMAN_FORMAT_H_
