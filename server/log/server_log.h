// The server's write-ahead log of updates. A server that was killed restores
// its latest snapshot and replays the updates after it.
//
//     FOLDER/log-120-00c0ffee00c0ffee    the updates after snapshot 120 (or
//                                        a job's beginning); the second
//                                        number is the server's epoch
//     FOLDER/...-incomplete              the same, but incomplete
//
// Each is a record log (storage/record_log.h) of proto/server_log.proto, and
// begins with the layout of the model.
#ifndef SERVER_LOG_SERVER_LOG_H_
#define SERVER_LOG_SERVER_LOG_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "proto/parameter_server.pb.h"
#include "proto/server_log.pb.h"
#include "server/norms/squares_exchange.h"
#include "server/slices/update_log.h"
#include "storage/files.h"
#include "storage/record_log.h"

namespace ps {

struct ServerLogOptions {
  Files* files = Files::Real();  // Not owned.
  std::string folder;            // The folder of the server's snapshots.
  // The maximum size; after it, nothing is written until the next Begin.
  int64_t max_bytes = 0;
  // Whether records survive a loss of power, too.
  bool sync = false;
  // Called after each record, with the time that it took and its bytes. May be
  // null; thread-safe.
  std::function<void(absl::Duration took, int64_t bytes)> appended = nullptr;
};

// A segment of a log.
struct LogSegment {
  int64_t number = 0;
  uint64_t epoch = 0;
  bool complete = true;
  std::string path;
};

// Returns a folder's segments, in order of number; none without a folder.
absl::StatusOr<std::vector<LogSegment>> ListLogSegments(
    Files* files, const std::string& folder);

// The contents of a log.
struct LoggedJob {
  RegisterRequest layout;  // The layout, as in LoggedBeginning; not checked.
  std::string boot;        // The boot of the latest segment.
  // The histories by slice; without `saved`.
  std::map<std::string, SliceHistory> slices;
  std::map<SquaresRound, std::vector<Squares>> norms;
  int64_t num_updates = 0;
};

// Reads the segments from this number on. Errors: kDataLoss that names the
// damaged or missing file; those of the file system.
absl::StatusOr<LoggedJob> ReadLog(Files* files,
                                  const std::vector<LogSegment>& segments,
                                  int64_t from);

// Writes the log. Thread-safe. Nothing is written before Begin or Continue.
class ServerLog final : public UpdateLog {
 public:
  // Opens the log of a folder. Errors: those of the file system.
  static absl::StatusOr<std::unique_ptr<ServerLog>> Open(
      const ServerLogOptions& options);

  // The latest segment when Open looked; none if it cannot be continued.
  const std::optional<LogSegment>& latest() const { return latest_; }

  bool syncs() const { return options_.sync; }

  // Reads the current segments from this number on. Errors: those of ReadLog.
  absl::StatusOr<LoggedJob> Read(int64_t from) const;
  // Returns the numbers from which Read finds all segments.
  absl::StatusOr<std::vector<int64_t>> Beginnings() const;

  // Continues to write after latest().
  absl::Status Continue();
  // Marks latest() as incomplete, so that no process continues it.
  absl::Status GiveUp();

  // Begins a segment, in place of those with the same or a higher number.
  // Deletes those that are older than all snapshots in the folder. layout: as
  // in LoggedBeginning.
  absl::Status Begin(int64_t number, uint64_t epoch,
                     const RegisterRequest& layout);

  absl::Status AppendInitialWeights(const std::string& slice,
                                    const PayloadPieces& weights) override;
  absl::Status AppendUpdate(const std::string& slice, int64_t version,
                            const UpdateRecord& update) override;
  absl::Status AppendNorms(const SquaresRound& round,
                           const std::vector<Squares>& sums);

 private:
  explicit ServerLog(const ServerLogOptions& options) : options_(options) {}

  absl::Status TryBegin(int64_t number, uint64_t epoch,
                        const RegisterRequest& layout);
  absl::Status GoOnBehind(const LogSegment& segment);
  absl::Status Append(const LogEntry& entry,
                      const std::vector<absl::string_view>& payloads);
  // Writes a record. Sets the bytes of this record, 0 if nothing is written,
  // and those of all records so far.
  absl::Status Write(const LogEntry& entry,
                     const std::vector<absl::string_view>& payloads,
                     int64_t* bytes, int64_t* written);
  absl::Status SyncUpTo(int64_t written);

  const ServerLogOptions options_;
  std::optional<LogSegment> latest_;

  Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);  // Why the log takes no records.
  LogSegment segment_ ABSL_GUARDED_BY(mu_);    // The current segment.
  // Null if nothing is written.
  std::shared_ptr<RecordLogWriter> writer_ ABSL_GUARDED_BY(mu_);
  int64_t written_ ABSL_GUARDED_BY(mu_) = 0;  // The bytes of all segments.

  // The threads that wait here find their bytes synced by the previous one.
  Mutex sync_mu_ ABSL_ACQUIRED_BEFORE(mu_);
  int64_t synced_ ABSL_GUARDED_BY(sync_mu_) = 0;
};

}  // namespace ps

#endif  // SERVER_LOG_SERVER_LOG_H_
