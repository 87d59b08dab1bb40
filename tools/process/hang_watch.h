// Notices that a job hangs.
#ifndef TOOLS_PROCESS_HANG_WATCH_H_
#define TOOLS_PROCESS_HANG_WATCH_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace ps {

// A job hangs if no iteration is made for long while all its processes run, and
// some of them say whom they wait for (transport/server_sessions.h). An
// iteration that nobody records is no hang, because then nobody waits. Not
// thread-safe.
class HangWatch {
 public:
  // Zero: nothing is a hang.
  explicit HangWatch(absl::Duration patience) : patience_(patience) {}

  // A process has written this line.
  void Heard(const std::string& process, absl::string_view line,
             absl::Time now);

  // To be called at least every minute, with the latest iteration and whether
  // all processes run. Returns who waits for whom if the job hangs, or nothing.
  std::string Hang(int64_t iteration, bool all_run, absl::Time now);

 private:
  struct Wait {
    std::string for_whom;
    absl::Time said;
  };

  const absl::Duration patience_;
  int64_t iteration_ = -1;
  absl::Time since_;                   // It has been the latest.
  std::map<std::string, Wait> waits_;  // By process.
};

}  // namespace ps

#endif  // TOOLS_PROCESS_HANG_WATCH_H_
