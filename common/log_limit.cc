#include "common/log_limit.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace ps {

std::string OneLine(absl::string_view text) {
  constexpr size_t kMaxBytes = 2000;
  std::string line(text.substr(0, kMaxBytes));
  for (char& c : line) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = ' ';
  }
  if (text.size() > kMaxBytes) absl::StrAppend(&line, " ...");
  return line;
}

LogLimit::LogLimit(int lines, absl::Duration interval, const Clock* clock)
    : lines_(lines), interval_(interval), clock_(clock) {}

void LogLimit::Log(absl::string_view text,
                   const std::function<void(const std::string& line)>& log) {
  int64_t left_out = 0;
  {
    MutexLock lock(&mu_);
    const absl::Time now = clock_->Now();
    const absl::Time full = std::max(full_, now) + interval_;
    if (full > now + lines_ * interval_) {
      ++left_out_;
      return;
    }
    full_ = full;
    std::swap(left_out, left_out_);
  }
  std::string line = OneLine(text);
  if (left_out > 0) {
    absl::StrAppend(&line, " (", left_out, " such lines were left out)");
  }
  log(line);
}

}  // namespace ps
