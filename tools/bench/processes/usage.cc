#include "tools/bench/processes/usage.h"

#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace ps {
namespace {

// proc(5), /proc/PID/stat: fields 14 and 15, utime and stime; the second field,
// the program's name in parentheses, may hold anything, so we count from its
// end, where field 3 begins.
constexpr size_t kUserField = 14 - 3;
constexpr size_t kSystemField = 15 - 3;

}  // namespace

absl::StatusOr<CpuTime> CpuTimeOf(pid_t pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/stat");
  PS_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const size_t name_end = text.rfind(") ");
  std::vector<std::string> fields;
  if (name_end != std::string::npos) {
    fields = absl::StrSplit(text.substr(name_end + 2), ' ');
  }
  int64_t user = 0;
  int64_t system = 0;
  if (fields.size() <= kSystemField ||
      !absl::SimpleAtoi(fields[kUserField], &user) ||
      !absl::SimpleAtoi(fields[kSystemField], &system)) {
    return absl::DataLossError(
        absl::StrCat(path, " is not as proc(5) says: \"", text, "\""));
  }
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  CpuTime time;
  time.user = static_cast<double>(user) / ticks;
  time.system = static_cast<double>(system) / ticks;
  return time;
}

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
