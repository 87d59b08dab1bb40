// The log of one child process: a file, and the last error in it.
#ifndef TOOLS_PROCESS_PROCESS_LOG_H_
#define TOOLS_PROCESS_PROCESS_LOG_H_

#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ps {

// A line of glog as people want it on a terminal: "W 12:03:04 text" without
// date, thread and place in the code. Other lines are returned as they are.
std::string ShortLogLine(absl::string_view line);

// Not thread-safe.
class ProcessLog {
 public:
  // Continues the file with `append`; otherwise it begins anew. Errors: those
  // of the system, with the path.
  absl::Status Open(const std::string& path, bool append);

  // Adds a line, which comes without its end.
  void Take(absl::string_view line);

  // The text of the last message of severity error or fatal, which may have
  // several lines; empty if none.
  const std::string& last_error() const { return last_error_; }

 private:
  std::ofstream file_;
  std::string last_error_;
  bool in_error_ = false;  // A line without glog's prefix continues it.
};

}  // namespace ps

#endif  // TOOLS_PROCESS_PROCESS_LOG_H_
