// What a server writes down of every update before it answers. A server that
// was killed goes on where it was: it takes up its latest snapshot and repeats
// the updates after it.
//
//     FOLDER/log-120-00c0ffee00c0ffee    what followed snapshot 120, or the
//                                        beginning of a job; the second number
//                                        is the server's epoch
//     FOLDER/...-incomplete              the same, but not all of it
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
  std::string folder;            // Of the server's snapshots.
  // After this many bytes, nothing more is written until the next Begin.
  int64_t max_bytes = 0;
  // Whether what is written survives a loss of power, too.
  bool sync = false;
  // Called after each record, with the time that it took and its bytes. May be
  // null; thread-safe.
  std::function<void(absl::Duration took, int64_t bytes)> appended = nullptr;
};

// A part of a log.
struct LogSegment {
  int64_t number = 0;
  uint64_t epoch = 0;
  bool complete = true;
  std::string path;
};

// Those in a folder, in order of number; none if there is no folder.
absl::StatusOr<std::vector<LogSegment>> ListLogSegments(
    Files* files, const std::string& folder);

// What a log says.
struct LoggedJob {
  RegisterRequest layout;  // As in LoggedBeginning; not checked.
  std::string boot;        // Likewise, of the latest segment.
  // By slice; without `saved`.
  std::map<std::string, SliceHistory> slices;
  std::map<SquaresRound, std::vector<Squares>> norms;
  int64_t num_updates = 0;
};

// Reads the segments from this number on. Errors: kDataLoss that names what is
// damaged or missing; those of the file system.
absl::StatusOr<LoggedJob> ReadLog(Files* files,
                                  const std::vector<LogSegment>& segments,
                                  int64_t from);

// Thread-safe. Nothing is written before Begin or Continue.
class ServerLog final : public UpdateLog {
 public:
  // Looks at what is there. Errors: those of the file system.
  static absl::StatusOr<std::unique_ptr<ServerLog>> Open(
      const ServerLogOptions& options);

  // The latest segment when Open looked; none if it cannot be continued.
  const std::optional<LogSegment>& latest() const { return latest_; }

  bool syncs() const { return options_.sync; }

  // What is there now, from this number on. Errors: those of ReadLog.
  absl::StatusOr<LoggedJob> Read(int64_t from) const;
  // The numbers from which Read finds all segments.
  absl::StatusOr<std::vector<int64_t>> Beginnings() const;

  // Goes on behind latest().
  absl::Status Continue();
  // latest() will not be continued, by whoever opens the log next, either.
  absl::Status GiveUp();

  // Begins a segment, in place of those with the same or a higher number. Drops
  // those that are older than all snapshots in the folder. layout: as in
  // LoggedBeginning.
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
  // Sets the bytes of this record, 0 if nothing is written down, and those of
  // all records so far.
  absl::Status Write(const LogEntry& entry,
                     const std::vector<absl::string_view>& payloads,
                     int64_t* bytes, int64_t* written);
  absl::Status SyncUpTo(int64_t written);

  const ServerLogOptions options_;
  std::optional<LogSegment> latest_;

  Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);  // Nothing is taken any more.
  LogSegment segment_ ABSL_GUARDED_BY(mu_);    // That is being written.
  // Null if nothing is.
  std::shared_ptr<RecordLogWriter> writer_ ABSL_GUARDED_BY(mu_);
  int64_t written_ ABSL_GUARDED_BY(mu_) = 0;  // Bytes, in all segments.

  // Those who wait here find their bytes synced by the one before them.
  Mutex sync_mu_ ABSL_ACQUIRED_BEFORE(mu_);
  int64_t synced_ ABSL_GUARDED_BY(sync_mu_) = 0;
};

}  // namespace ps

#endif  // SERVER_LOG_SERVER_LOG_H_
