#include "tools/command_line/progress.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/metric.h"
#include "tools/command_line/human_format.h"

namespace ps {
namespace {

// ECMA-48: back to the first column and erase to the end of the line (EL); one
// line up (CUU); erase to the end of the screen (ED).
constexpr char kEraseLine[] = "\r\x1b[K";
constexpr char kUp[] = "\x1b[A";
constexpr char kEraseBelow[] = "\x1b[J";

int Columns(int fd, bool live) {
  struct winsize size = {};
  // A character in the last column may wrap the line, which then cannot be
  // erased.
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) {
    return size.ws_col - 1;
  }
  // A log has room.
  return live ? 79 : 120;
}

}  // namespace

std::string FormatProgress(const Progress& progress, int columns) {
  const int64_t total = std::max<int64_t>(progress.total_iterations, 1);
  const double percent = 100.0 * static_cast<double>(progress.iteration) /
                         static_cast<double>(total);
  const bool known = progress.total_iterations > 0;
  const bool done = progress.iteration >= total;
  std::string line;
  // In order of importance.
  for (const std::string& part : {
           // Rounded down: 100 % means done.
           known ? absl::StrFormat("%3d %%", static_cast<int>(percent)) : "",
           known ? absl::StrCat(FormatCount(progress.iteration), "/",
                                FormatCount(progress.total_iterations))
                 : absl::StrCat("iteration ", FormatCount(progress.iteration)),
           // A script need not tell its loss.
           !known && std::isnan(progress.loss)
               ? ""
               : absl::StrCat("loss ", FormatLoss(progress.loss)),
           done || !known ? ""
                          : absl::StrCat("ETA ", FormatTimeSpan(progress.eta)),
           absl::StrCat("up ", FormatBytes(progress.bytes_up)),
           absl::StrCat("down ", FormatBytes(progress.bytes_down)),
           known ? absl::StrCat(FormatCount(static_cast<int64_t>(
                                    progress.samples_per_second + 0.5)),
                                " samples/s")
                 : "",
           absl::StrFormat("ratio %.3g", progress.achieved_ratio),
           known ? absl::StrFormat("epoch %.1f", progress.epoch) : "",
       }) {
    if (part.empty()) continue;
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
  options.columns = [fd, live = options.live] { return Columns(fd, live); };
  return options;
}

ProgressLine::ProgressLine(const ProgressOptions& options, std::ostream* out)
    : options_(options), out_(out) {}

void ProgressLine::Update(const Progress& progress, absl::Time now) {
  const bool last = progress.total_iterations > 0 &&
                    progress.iteration >= progress.total_iterations;
  const absl::Duration interval =
      options_.live ? options_.live_interval : options_.plain_interval;
  if (!last && now - last_shown_ < interval) return;
  last_shown_ = now;
  const std::string line = FormatProgress(progress, options_.columns());
  if (!options_.live) {
    *out_ << line << std::endl;
    return;
  }
  *out_ << Erase() << line << std::flush;
  live_line_ = line;
}

void ProgressLine::Print(absl::string_view line) {
  if (live_line_.empty()) {
    *out_ << line << std::endl;
  } else {
    const std::string erase = Erase();
    live_line_.resize(std::min(live_line_.size(), static_cast<size_t>(std::max(
                                                      options_.columns(), 0))));
    *out_ << erase << line << "\n" << live_line_ << std::flush;
  }
}

std::string ProgressLine::Erase() const {
  // If the window has become narrower, the line takes several.
  const size_t columns = std::max(options_.columns(), 0) + size_t{1};
  std::string erase;
  for (size_t end = columns; end < live_line_.size(); end += columns) {
    absl::StrAppend(&erase, kUp);
  }
  return erase.empty() ? kEraseLine : absl::StrCat("\r", erase, kEraseBelow);
}

void ProgressLine::Finish() {
  if (live_line_.empty()) return;
  live_line_.clear();
  *out_ << std::endl;
}

}  // namespace ps
