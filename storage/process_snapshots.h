// Saves and restores the snapshots of one process of a job.
#ifndef STORAGE_PROCESS_SNAPSHOTS_H_
#define STORAGE_PROCESS_SNAPSHOTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "common/thread.h"
#include "proto/config.pb.h"
#include "storage/files.h"

namespace ps {

struct ProcessSnapshotsOptions {
  Files* files = Files::Real();  // Not owned.
  // The job, with a checkpoint.directory. Not owned; used by Open only.
  const JobConfig* config = nullptr;
  std::string process;  // ServerProcess or WorkerProcess; names the folder.
  // The text of the DataDescription of a worker's data; empty if it has none.
  std::string data_text;
  // Whether the snapshots do not depend on cluster.num_servers.
  bool any_num_servers = false;
  // Called after each snapshot, on the thread that writes it, with the time
  // that it took and the result. May be null.
  std::function<void(absl::Duration took, const absl::Status& result)> written =
      nullptr;
};

// Returns "server-0-of-2". Slices depend on the number of servers.
std::string ServerProcess(int index, int num_servers);
// Returns "worker-0".
std::string WorkerProcess(int rank);
// Returns the number of a ServerProcess; nullopt for anything else.
std::optional<int> NumServersOf(absl::string_view process);

// Locks a process's folder, which must exist, against other processes. Errors:
// kUnavailable if one of them uses it. A file system without locks is logged.
absl::StatusOr<std::unique_ptr<FileLock>> LockProcess(
    Files* files, const std::string& folder);

// Undoes ProcessSnapshots::MarkDone in this folder.
absl::Status ForgetDone(Files* files, const std::string& folder);

// The parts of a process's state at one moment: bytes by name.
using SnapshotParts = std::map<std::string, std::string>;

// Returns the job to which a snapshot with this note belongs, without the
// fields that may differ between processes. Errors: those of ParseConfig.
absl::StatusOr<JobConfig> JobOfNote(const std::string& note);
// Returns the description of the data; empty if the note has none.
std::string DataOfNote(const std::string& note);
std::string NoteOf(const JobConfig& job, const std::string& data_text);
// Checks that a snapshot with this note was made with the data that `data_text`
// describes, or describes no data. Errors: kFailedPrecondition names the
// difference. `where` names the snapshot.
absl::Status CheckSameData(const std::string& note,
                           const std::string& data_text,
                           const std::string& where);

// The snapshots in a process's folder. Snapshot 0 stands for the beginning of
// the job and is empty. It distinguishes a process that has not saved anything
// yet from one that has lost its folder. Thread-safe.
class ProcessSnapshots {
 public:
  // Reads and checks the existing snapshots, and logs which are damaged, or are
  // unreadable and older than a whole one. Errors: kUnavailable if another
  // process uses the folder; kFailedPrecondition, with the difference, for a
  // snapshot of another job or other data; those of the file system, if the
  // latest cannot be read.
  static absl::StatusOr<std::unique_ptr<ProcessSnapshots>> Open(
      const ProcessSnapshotsOptions& options);

  // Waits until all snapshots are written.
  ~ProcessSnapshots();

  // The whole snapshots when Open returns (or the beginning, once that is
  // saved), and the damaged ones. Ascending.
  const std::vector<int64_t>& numbers() const { return numbers_; }
  const std::vector<int64_t>& damaged() const { return damaged_; }

  // The latest whole snapshot; -1 if there is none.
  int64_t latest() const;

  // The snapshots that are whole now, except those older than one that all
  // processes have.
  std::set<int64_t> written() const;

  // Whether the job was done when Open looked.
  bool done() const { return done_; }
  // Records that the job is done, or that it is not, for all that open the
  // folder later, also after a loss of power.
  absl::Status MarkDone();
  absl::Status ForgetDone();

  // Saves snapshot 0, if there is none.
  absl::Status SaveBeginning();

  // Return the numbers and the parts of the snapshots that exist now.
  absl::StatusOr<std::vector<int64_t>> SavedNow() const;
  absl::StatusOr<SnapshotParts> Read(int64_t number) const;

  // Returns the parts of one of numbers(), from which this process resumes:
  // later ones are removed. Errors: kDataLoss names the damaged file;
  // kNotFound.
  absl::StatusOr<SnapshotParts> Take(int64_t number);

  // Saves a snapshot. Waits until the previous one has been written. Then
  // removes old ones, but none from the latest of `written_by_all` on, and
  // writes this one on a thread of its own. A failure is logged and leaves the
  // latest snapshots unchanged.
  void Save(int64_t number, SnapshotParts parts,
            const std::set<int64_t>& written_by_all);

  // Waits until all snapshots are written. Returns the error of the last Save.
  absl::Status Flush();

  const std::string& folder() const { return folder_; }

 private:
  explicit ProcessSnapshots(const ProcessSnapshotsOptions& options);

  absl::Status Find();
  absl::Status CheckNote(int64_t number, const std::string& note) const;
  absl::Status Write(int64_t number, const SnapshotParts& parts,
                     int64_t needed);

  Files* const files_;
  const std::string folder_;
  const JobConfig job_;
  const std::string data_text_;
  const bool any_num_servers_;
  const std::function<void(absl::Duration, const absl::Status&)> written_;
  std::unique_ptr<FileLock> lock_;
  const int keep_last_;
  std::vector<int64_t> numbers_;
  std::vector<int64_t> damaged_;
  bool done_ = false;

  // Held while waiting for the writer, which takes only mu_.
  Mutex writer_mu_;
  Thread writer_ ABSL_GUARDED_BY(writer_mu_);  // May have ended.
  mutable Mutex mu_;
  absl::Status result_ ABSL_GUARDED_BY(mu_);  // The result of the last Save.
  std::set<int64_t> whole_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // STORAGE_PROCESS_SNAPSHOTS_H_
