// Formats counts for people.
#ifndef COMMON_COUNTED_H_
#define COMMON_COUNTED_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace ps {

// Separates the thousands: "1,234,567".
std::string FormatCount(int64_t count);

// "1 server", "1,234 parameters". `noun` is in the singular; its plural ends in
// "es" after an "s" or an "h", and otherwise in "s".
std::string Counted(int64_t count, absl::string_view noun);

}  // namespace ps

#endif  // COMMON_COUNTED_H_
