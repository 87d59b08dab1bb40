// One process of a launched job on its host, which may be started several
// times.
#ifndef TOOLS_LAUNCH_MEMBER_H_
#define TOOLS_LAUNCH_MEMBER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "tools/launch/remote_process.h"
#include "tools/process/process_log.h"
#include "tools/process/subprocesses.h"

namespace ps {

// A server or worker, or the command that prints metrics. Not thread-safe.
class Member {
 public:
  enum class Kind { kServer, kWorker, kMetrics };
  enum class State {
    kWaits,  // To be started at start_at().
    kRuns,
    kDone,    // Ended with exit code 0.
    kFailed,  // Ended otherwise, and is not started again.
  };

  // All members of a job, with the metrics at the end. They are due soon after
  // `now`. With `goes_on`, logs are continued.
  static std::vector<Member> Of(const LaunchedJob& job, bool goes_on,
                                absl::Time now);

  Kind kind() const { return kind_; }
  int number() const { return number_; }             // Index or rank.
  const std::string& name() const { return name_; }  // "worker-3@gpu1"
  std::string process_name() const;                  // "worker-3"
  const std::string& host() const { return host_; }
  State state() const { return state_; }
  absl::Time start_at() const { return start_at_; }

  // Starts it as a child, whose number is returned. Errors: those of Spawn()
  // and of ProcessLog.
  absl::StatusOr<int> Start(Subprocesses* children);

  // A line of its output; goes into its log.
  void Take(absl::string_view line);

  // Sends SIGTERM to it.
  void Ask();
  // The same, for the last time.
  void LetGo() { input_.Close(); }

  // The child has ended, and is not started again ...
  void Ended(const ProcessExit& exit);
  // ... but now it is.
  void StartAgainAt(absl::Time time);

  // How it ended, and what it or ssh said last, in one line.
  std::string DescribeEnd() const;

  // The last error in its log since the latest start; empty: none.
  const std::string& last_error() const { return log_.last_error(); }

  // Whether ssh has told how it ended, if it has.
  bool is_reachable() const;

 private:
  Kind kind_ = Kind::kMetrics;
  int number_ = 0;
  std::string name_;
  std::string host_;
  std::vector<std::string> arguments_;
  std::string log_path_;  // Empty: none.
  bool continues_log_ = false;
  State state_ = State::kWaits;
  absl::Time start_at_;
  UniqueFd input_;  // Our end of the standard input of the child.
  ProcessExit exit_;
  // Since the latest start.
  ProcessLog log_;
  std::string last_line_;
};

}  // namespace ps

#endif  // TOOLS_LAUNCH_MEMBER_H_
