#include "tools/process_log.h"

#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ps {

absl::Status ProcessLog::Open(const std::string& path, bool append) {
  file_.open(path, append ? std::ios::app : std::ios::out);
  if (file_) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
}

void ProcessLog::Take(absl::string_view line) {
  // After a line that could not be written, the next one may be.
  file_.clear();
  file_ << line << '\n' << std::flush;
  if (absl::StartsWith(line, "E") || absl::StartsWith(line, "F")) {
    const size_t text = line.find("] ");
    last_error_ = std::string(
        text == absl::string_view::npos ? line : line.substr(text + 2));
  }
}

}  // namespace ps
