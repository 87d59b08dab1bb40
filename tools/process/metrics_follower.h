// Reads a run's metrics.jsonl while it grows.
#ifndef TOOLS_PROCESS_METRICS_FOLLOWER_H_
#define TOOLS_PROCESS_METRICS_FOLLOWER_H_

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace ps {

// The newest values in the file.
struct RunState {
  int64_t iteration = 0;
  int64_t total_iterations = 0;
  double epoch = 0;
  double training_loss = 0;
  double seconds = 0;  // Training time.
  double samples_per_second = 0;
  double achieved_ratio = 0;  // Since the start.
  int64_t bytes_up = 0;
  int64_t bytes_down = 0;
};

// Not thread-safe.
class MetricsFollower {
 public:
  explicit MetricsFollower(std::string path) : path_(std::move(path)) {}

  // Reads what has been added. A missing file is not an error, nor is an
  // incomplete last line. Returns whether anything is new. Lines that are not
  // JSON objects are skipped, because this only serves to show progress.
  bool Poll();

  const RunState& state() const { return state_; }

 private:
  void Take(const std::string& line);

  const std::string path_;
  std::ifstream file_;
  std::string partial_;  // A line whose end has not been written yet.
  RunState state_;
};

}  // namespace ps

#endif  // TOOLS_PROCESS_METRICS_FOLLOWER_H_
