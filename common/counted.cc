#include "common/counted.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ps {

std::string FormatCount(int64_t count) {
  std::string digits = absl::StrCat(count);
  const int first_digit = count < 0 ? 1 : 0;
  for (int at = static_cast<int>(digits.size()) - 3; at > first_digit;
       at -= 3) {
    digits.insert(at, ",");
  }
  return digits;
}

std::string Counted(int64_t count, absl::string_view noun) {
  const bool hisses = absl::EndsWith(noun, "s") || absl::EndsWith(noun, "h");
  return absl::StrCat(FormatCount(count), " ", noun,
                      count == 1 ? ""
                      : hisses   ? "es"
                                 : "s");
}

}  // namespace ps
