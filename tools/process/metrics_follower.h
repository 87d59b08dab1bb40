// Reads a run's metrics.jsonl while it grows.
#ifndef TOOLS_PROCESS_METRICS_FOLLOWER_H_
#define TOOLS_PROCESS_METRICS_FOLLOWER_H_

#include <fstream>
#include <string>
#include <utility>

#include "tools/command_line/progress.h"

namespace ps {

// Not thread-safe.
class MetricsFollower {
 public:
  explicit MetricsFollower(std::string path) : path_(std::move(path)) {}

  // Reads what has been added. A missing file is not an error, nor is an
  // incomplete last line. Returns whether anything is new. Lines that are not
  // JSON objects are skipped, because this only serves to show progress.
  bool Poll();

  // The newest values in the file.
  const Progress& progress() const { return progress_; }

 private:
  void Take(const std::string& line);

  const std::string path_;
  std::ifstream file_;
  std::string partial_;  // A line whose end has not been written yet.
  double seconds_ = 0;   // Training time.
  Progress progress_;
};

}  // namespace ps

#endif  // TOOLS_PROCESS_METRICS_FOLLOWER_H_
