#include "tools/bench/processes/resident_memory.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace ps {

absl::StatusOr<int64_t> ParseResidentBytes(absl::string_view status_text,
                                           absl::string_view path) {
  // proc(5): "VmRSS:     1234 kB", where a kB is 1024 bytes.
  for (absl::string_view line : absl::StrSplit(status_text, '\n')) {
    if (!absl::ConsumePrefix(&line, "VmRSS:")) continue;
    int64_t kilobytes = 0;
    if (absl::ConsumeSuffix(&line, " kB") &&
        absl::SimpleAtoi(absl::StripAsciiWhitespace(line), &kilobytes) &&
        kilobytes >= 0) {
      return kilobytes << 10;
    }
    break;
  }
  return absl::DataLossError(
      absl::StrCat(path, " has no VmRSS as proc(5) says"));
}

absl::StatusOr<int64_t> ResidentBytesOf(pid_t pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/status");
  PS_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseResidentBytes(text, path);
}

}  // namespace ps
