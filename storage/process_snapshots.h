// The snapshots of one process of a job.
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
  // With a checkpoint.directory. Not owned; used by Open only.
  const JobConfig* config = nullptr;
  std::string process;  // ServerProcess or WorkerProcess; names the folder.
  // The text of the DataDescription of a worker's data; empty: it has none.
  std::string data_text;
  // Whether what it saves does not depend on cluster.num_servers.
  bool any_num_servers = false;
  // Called after each snapshot, on the thread that writes it, with the time
  // that it took and the result. May be null.
  std::function<void(absl::Duration took, const absl::Status& result)> written =
      nullptr;
};

// "server-0-of-2". Servers of another number have other slices.
std::string ServerProcess(int index, int num_servers);
// "worker-0".
std::string WorkerProcess(int rank);
// Of a ServerProcess; nullopt for anything else.
std::optional<int> NumServersOf(absl::string_view process);

// Keeps other processes from a process's folder, which must exist. Errors:
// kUnavailable if one of them uses it. A file system without locks is logged.
absl::StatusOr<std::unique_ptr<FileLock>> LockProcess(
    Files* files, const std::string& folder);

// Undoes ProcessSnapshots::MarkDone in this folder.
absl::Status ForgetDone(Files* files, const std::string& folder);

// What one process saves at one moment: bytes by name.
using SnapshotParts = std::map<std::string, std::string>;

// The job to which a snapshot with this note belongs, without the fields that
// may differ between processes. Errors: those of ParseConfig.
absl::StatusOr<JobConfig> JobOfNote(const std::string& note);
// The description of the data; empty if the note has none.
std::string DataOfNote(const std::string& note);
std::string NoteOf(const JobConfig& job, const std::string& data_text);
// kFailedPrecondition, which names the difference, unless a snapshot with this
// note was made with the data that `data_text` describes, or says nothing of
// data. `where` names the snapshot.
absl::Status CheckSameData(const std::string& note,
                           const std::string& data_text,
                           const std::string& where);

// Snapshot 0 stands for the beginning of the job and is empty. It tells a
// process that has not saved anything yet from one that has lost its folder.
//
// Thread-safe.
class ProcessSnapshots {
 public:
  // Reads and checks the snapshots that are there, and logs which are damaged,
  // or cannot be read and are older than one that is whole. Errors:
  // kUnavailable if another process uses the folder; kFailedPrecondition, with
  // what differs, for a snapshot of another job or other data; those of the
  // file system, if the latest cannot be read.
  static absl::StatusOr<std::unique_ptr<ProcessSnapshots>> Open(
      const ProcessSnapshotsOptions& options);

  // Waits until everything is written.
  ~ProcessSnapshots();

  // Those that are whole when Open returns (or the beginning, once that is
  // saved), and those that are damaged. Ascending.
  const std::vector<int64_t>& numbers() const { return numbers_; }
  const std::vector<int64_t>& damaged() const { return damaged_; }

  // The latest that is whole; -1 if there is none.
  int64_t latest() const;

  // Those that are whole now, but none that all processes have a later one of.
  std::set<int64_t> written() const;

  // Whether the job was done when Open looked.
  bool done() const { return done_; }
  // From now on, also after a loss of power, whoever opens the folder finds
  // that the job is done; or that it is not.
  absl::Status MarkDone();
  absl::Status ForgetDone();

  // Saves snapshot 0, if there is none.
  absl::Status SaveBeginning();

  // The numbers and the parts of snapshots that are there now.
  absl::StatusOr<std::vector<int64_t>> SavedNow() const;
  absl::StatusOr<SnapshotParts> Read(int64_t number) const;

  // The parts of one of numbers(), from which this process goes on: later ones
  // are removed. Errors: kDataLoss names what is damaged; kNotFound.
  absl::StatusOr<SnapshotParts> Take(int64_t number);

  // Waits until the snapshot before has been written. Then removes old ones,
  // but none from the latest of `written_by_all` on, and writes this one on a
  // thread of its own. A failure is logged and leaves the latest snapshots as
  // they are.
  void Save(int64_t number, SnapshotParts parts,
            const std::set<int64_t>& written_by_all);

  // Waits until everything is written. Returns the error of the last Save.
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
  absl::Status result_ ABSL_GUARDED_BY(mu_);  // Of the last Save.
  std::set<int64_t> whole_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // STORAGE_PROCESS_SNAPSHOTS_H_
