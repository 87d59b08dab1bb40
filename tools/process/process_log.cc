#include "tools/process/process_log.h"

#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ps {

namespace {

// A script's error is shown by its log; the bridge has written the reason.
constexpr char kTraceback[] = "Traceback (most recent call last):";

// I20261125 16:33:36.548906 18118 trainer.cc:533] text
constexpr size_t kDate = 10;  // Up to the time.
constexpr size_t kTime = 8;

// Where the text begins in a line of glog; npos for other lines.
size_t TextOf(absl::string_view line) {
  const size_t end = line.find("] ");
  const bool is_log = end != absl::string_view::npos && end > kDate + kTime &&
                      absl::StrContains("IWEF", line[0]) &&
                      absl::ascii_isdigit(line[1]) && line[kDate - 1] == ' ' &&
                      line[kDate + kTime] == '.';
  return is_log ? end + 2 : absl::string_view::npos;
}

}  // namespace

std::string ShortLogLine(absl::string_view line) {
  const size_t text = TextOf(line);
  if (text == absl::string_view::npos) return std::string(line);
  return absl::StrCat(line.substr(0, 1), " ", line.substr(kDate, kTime), " ",
                      line.substr(text));
}

absl::Status ProcessLog::Open(const std::string& path, bool append) {
  file_.open(path, append ? std::ios::app : std::ios::out);
  if (file_) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
}

void ProcessLog::Take(absl::string_view line) {
  // After a line that could not be written, the next one may be.
  file_.clear();
  file_ << line << '\n' << std::flush;
  const size_t text = TextOf(line);
  if (line == kTraceback) in_error_ = false;
  if (text == absl::string_view::npos && in_error_) {
    absl::StrAppend(&last_error_, "\n", line);
    return;
  }
  in_error_ =
      text != absl::string_view::npos && absl::StrContains("EF", line[0]);
  if (in_error_) last_error_ = std::string(line.substr(text));
}

}  // namespace ps
