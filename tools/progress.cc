#include "tools/progress.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/human_format.h"

namespace ps {
namespace {

// Back to the first column, and erase to the end of the line (ECMA-48, EL).
constexpr char kEraseLine[] = "\r\x1b[K";

}  // namespace

std::string FormatProgress(const Progress& progress, int columns) {
  const int64_t total = std::max<int64_t>(progress.total_iterations, 1);
  const double percent = 100.0 * static_cast<double>(progress.iteration) /
                         static_cast<double>(total);
  std::string line;
  // In order of importance.
  for (const std::string& part : {
           // Rounded down: 100 % means done.
           absl::StrFormat("%3d %%", static_cast<int>(percent)),
           absl::StrCat(FormatCount(progress.iteration), "/",
                        FormatCount(progress.total_iterations)),
           absl::StrFormat("loss %.4f", progress.loss),
           absl::StrCat("ETA ", FormatTimeSpan(progress.eta)),
           absl::StrFormat("ratio %.3g", progress.achieved_ratio),
           absl::StrCat(FormatCount(static_cast<int64_t>(
                            progress.samples_per_second + 0.5)),
                        " samples/s"),
           absl::StrCat("up ", FormatBytes(progress.bytes_up)),
           absl::StrCat("down ", FormatBytes(progress.bytes_down)),
           absl::StrFormat("epoch %.1f", progress.epoch),
       }) {
    const size_t gap = line.empty() ? 0 : 2;
    if (line.size() + gap + part.size() > static_cast<size_t>(columns)) break;
    absl::StrAppend(&line, std::string(gap, ' '), part);
  }
  return line;
}

absl::Duration EstimateRemaining(int64_t done, int64_t total,
                                 absl::Duration elapsed) {
  if (done < 1) return absl::InfiniteDuration();
  const double remaining =
      static_cast<double>(std::max<int64_t>(total - done, 0));
  return elapsed * (remaining / static_cast<double>(done));
}

ProgressOptions ProgressOptionsFor(int fd) {
  ProgressOptions options;
  const char* terminal = getenv("TERM");
  options.live = isatty(fd) != 0 && terminal != nullptr &&
                 absl::string_view(terminal) != "dumb";
  struct winsize size = {};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) {
    // A character in the last column may wrap the line, which then cannot be
    // erased.
    options.columns = size.ws_col - 1;
  } else {
    // A log has room.
    options.columns = options.live ? 79 : 120;
  }
  return options;
}

ProgressLine::ProgressLine(const ProgressOptions& options, std::ostream* out)
    : options_(options), out_(out) {}

void ProgressLine::Update(const Progress& progress, absl::Time now) {
  const bool last = progress.iteration >= progress.total_iterations;
  const absl::Duration interval =
      options_.live ? options_.live_interval : options_.plain_interval;
  if (!last && now - last_shown_ < interval) return;
  last_shown_ = now;
  const std::string line = FormatProgress(progress, options_.columns);
  if (!options_.live) {
    *out_ << line << std::endl;
    return;
  }
  live_line_ = line;
  *out_ << kEraseLine << live_line_ << std::flush;
}

void ProgressLine::Print(absl::string_view line) {
  if (live_line_.empty()) {
    *out_ << line << std::endl;
  } else {
    *out_ << kEraseLine << line << "\n" << live_line_ << std::flush;
  }
}

void ProgressLine::Finish() {
  if (live_line_.empty()) return;
  live_line_.clear();
  *out_ << std::endl;
}

}  // namespace ps
