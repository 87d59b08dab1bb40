#include "worker/records/progress_log.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ps {

ProgressLog::ProgressLog(const ProgressLogOptions& options)
    : options_(options),
      start_(options.clock->Now()),
      next_(start_ + options.interval) {}

std::string ProgressLog::Line(int64_t iterations_done, double loss) {
  const absl::Time now = options_.clock->Now();
  if (options_.interval <= absl::ZeroDuration() || now < next_) return "";
  next_ = now + options_.interval;
  const int64_t total = options_.total_iterations;
  const int64_t done = iterations_done - options_.first_iteration;
  if (done <= 0 || iterations_done >= total) return "";
  const absl::Duration left =
      (now - start_) * (static_cast<double>(total - iterations_done) /
                        static_cast<double>(done));
  return absl::StrCat("iteration ", iterations_done, " of ", total, " (",
                      100 * iterations_done / total, " %), loss ",
                      absl::StrFormat("%.4g", loss), ", about ",
                      absl::FormatDuration(absl::Trunc(left + absl::Seconds(1),
                                                       absl::Seconds(1))),
                      " left");
}

}  // namespace ps
