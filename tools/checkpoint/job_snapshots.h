// The snapshots of all processes of a job, as they lie on a disk.
#ifndef TOOLS_CHECKPOINT_JOB_SNAPSHOTS_H_
#define TOOLS_CHECKPOINT_JOB_SNAPSHOTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/files.h"
#include "storage/snapshot.h"

namespace ps {

// The part of one process: "worker-0".
struct ProcessPart {
  std::string process;
  // kDataLoss, with the file, if its manifest is damaged.
  absl::StatusOr<Snapshot> snapshot;

  int64_t size_bytes() const;
};

struct JobSnapshot {
  int64_t number = 0;
  std::vector<ProcessPart> parts;  // By name of the process.
  // Processes of the job whose part is not there. (They may keep theirs on
  // another machine.)
  std::vector<std::string> missing;
};

// The checkpoint.directory itself, or that of a run directory. Errors:
// kNotFound if no process has saved anything there.
absl::StatusOr<std::string> FindCheckpointDirectory(
    Files* files, const std::string& directory);

// The names of the folders of processes in a checkpoint.directory; none if it
// does not exist.
absl::StatusOr<std::vector<std::string>> FindProcesses(
    Files* files, const std::string& directory);

// Keeps the processes of the job from their folders below this
// checkpoint.directory. Errors: kUnavailable if one uses its folder.
using ProcessLocks = std::vector<std::unique_ptr<FileLock>>;
absl::StatusOr<ProcessLocks> LockProcesses(Files* files,
                                           const std::string& directory);

// ForgetDone for all processes below this checkpoint.directory.
absl::Status ForgetDoneJob(Files* files, const std::string& directory);

// Finds them in a run directory or a checkpoint.directory, by number. Errors:
// kNotFound if there is none.
absl::StatusOr<std::vector<JobSnapshot>> FindJobSnapshots(
    Files* files, const std::string& directory);

// The snapshot with this number; below 0: the latest in which this process has
// a part. Errors: kNotFound names those that there are.
absl::StatusOr<JobSnapshot> ChooseJobSnapshot(
    const std::vector<JobSnapshot>& snapshots, int64_t number,
    const std::string& process);

// The part of this process. Errors: kNotFound; that of its manifest.
absl::StatusOr<Snapshot> PartOf(const JobSnapshot& snapshot,
                                const std::string& process);

// Reads and checks every file that is there, and the servers' logs since then.
// Returns a line for everything that is damaged.
std::vector<std::string> Verify(Files* files, const JobSnapshot& snapshot);

}  // namespace ps

#endif  // TOOLS_CHECKPOINT_JOB_SNAPSHOTS_H_
