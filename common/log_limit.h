// Limits the rate of log lines that peers cause.
#ifndef COMMON_LOG_LIMIT_H_
#define COMMON_LOG_LIMIT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"

namespace ps {

// Makes a peer's text fit for the log and for messages: printable, without line
// breaks, and cut after 2,000 bytes.
std::string OneLine(absl::string_view text);

// A token bucket: lets through up to `lines` at once, and one more in each
// `interval`. The next line says how many were dropped. Thread-safe.
class LogLimit {
 public:
  // `clock` is not owned.
  LogLimit(int lines, absl::Duration interval,
           const Clock* clock = SteadyClock());

  // Calls log(line) with OneLine(text), or only counts the drop.
  void Log(absl::string_view text,
           const std::function<void(const std::string& line)>& log);

 private:
  const int lines_;
  const absl::Duration interval_;
  const Clock* const clock_;

  Mutex mu_;
  // When the bucket is full again.
  absl::Time full_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  int64_t left_out_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace ps

#endif  // COMMON_LOG_LIMIT_H_
