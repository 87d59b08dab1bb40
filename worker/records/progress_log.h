// Formats log lines about the progress of a worker.
#ifndef WORKER_RECORDS_PROGRESS_LOG_H_
#define WORKER_RECORDS_PROGRESS_LOG_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/clock.h"

namespace ps {

struct ProgressLogOptions {
  // The time between two lines; zero means no lines.
  absl::Duration interval;
  int64_t first_iteration = 0;  // The first iteration of this process.
  int64_t total_iterations = 0;
  const Clock* clock = SteadyClock();  // Not owned.
};

// The log. Not thread-safe.
class ProgressLog {
 public:
  explicit ProgressLog(const ProgressLogOptions& options);

  // Returns the line to log after a push, from the number of iterations done
  // and the mean loss: "iteration 250 of 1000 (25 %), loss 0.5321, about 30s
  // left"; empty if none is due, and at the end.
  std::string Line(int64_t iterations_done, double loss);

 private:
  const ProgressLogOptions options_;
  const absl::Time start_;
  absl::Time next_;
};

}  // namespace ps

#endif  // WORKER_RECORDS_PROGRESS_LOG_H_
