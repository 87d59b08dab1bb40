// When a process that has ended is started again, and when that is given up.
#ifndef TOOLS_LAUNCH_RESTARTS_H_
#define TOOLS_LAUNCH_RESTARTS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "proto/config.pb.h"
#include "tools/process/subprocesses.h"

namespace ps {

// Whether the process is to be started again (docs/operations.md). `exit` is
// that of its ssh, whose own code 255 means that the host was lost.
bool AsksForRestart(const ProcessExit& exit);

// Decides for one job, whose timeouts say how long processes wait for others.
// Not thread-safe.
class Restarts {
 public:
  explicit Restarts(const ClusterConfig& cluster);

  // `iteration` is the latest. It counts if there was none as high before:
  // after each return to a snapshot, some are made once more.
  void Reached(int64_t iteration);

  // `process` has ended and asks to be started again. Returns the time to wait:
  // 1 s, and twice as much each time until another iteration, up to 30 s or
  // half of startup_timeout_seconds: processes that wait longer would miss each
  // other.
  absl::Duration DelayOf(const std::string& process, absl::Time now);

  // How long processes have been ending without another iteration.
  absl::Duration Trouble(absl::Time now) const;
  // Whether that is longer than the job's timeouts and a minute.
  bool ToGiveUp(absl::Time now) const { return Trouble(now) > patience_; }

 private:
  const absl::Duration patience_;
  const absl::Duration longest_delay_;
  int64_t reached_ = 0;
  absl::Time trouble_began_ = absl::InfiniteFuture();
  std::map<std::string, absl::Duration> delays_;
};

}  // namespace ps

#endif  // TOOLS_LAUNCH_RESTARTS_H_
