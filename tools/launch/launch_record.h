// What a run remembers of how it was launched: the file "hosts" of its run
// directory.
#ifndef TOOLS_LAUNCH_LAUNCH_RECORD_H_
#define TOOLS_LAUNCH_LAUNCH_RECORD_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ps {

struct LaunchRecord {
  std::string hosts;  // For ParseHosts().
  int port = 50051;   // Of the first server on each host.
  std::string ssh = "ssh";
  // Tells the run's folder on a host from that of another run.
  std::string run_id;
  // The programs on each host; a relative path begins in the home folder.
  std::string server_program;
  std::string worker_program;
};

// A random run_id.
std::string NewRunId();

// Errors: those of the file system.
absl::Status WriteLaunchRecord(const LaunchRecord& record,
                               const std::string& run_directory);

// Errors: those of ReadFile; kDataLoss with the line that is wrong.
absl::StatusOr<LaunchRecord> ReadLaunchRecord(const std::string& run_directory);

}  // namespace ps

#endif  // TOOLS_LAUNCH_LAUNCH_RECORD_H_
