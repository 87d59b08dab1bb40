// Keeps a copy of a metrics.jsonl that another host writes.
#ifndef TOOLS_LAUNCH_METRICS_COPY_H_
#define TOOLS_LAUNCH_METRICS_COPY_H_

#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace ps {

// It gets the lines as `tail -F` prints them, which begins anew when it is
// started again, and when it sees that a run that goes on from a snapshot has
// cut the file. Then the copy begins anew, too. It may nevertheless lack or
// repeat lines of such a moment: it serves to show progress, and the file
// itself is fetched at the end. Not thread-safe.
class MetricsCopy {
 public:
  explicit MetricsCopy(std::string path) : path_(std::move(path)) {}

  // What cannot be written is missing in the copy.
  void Take(absl::string_view line);

 private:
  const std::string path_;
  std::ofstream file_;
};

}  // namespace ps

#endif  // TOOLS_LAUNCH_METRICS_COPY_H_
