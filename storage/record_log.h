// Writes and reads logs: records that are appended, and read after a crash.
//
//     log    := "gradsieve-log 1\n" record*
//     record := length u32 | its CRC-32C u32 | the bytes' CRC-32C u32 | bytes
//
// Integers are little-endian. A process that dies may leave an incomplete last
// record, which is cut off when the log is continued. Any other damage is an
// error.
#ifndef STORAGE_RECORD_LOG_H_
#define STORAGE_RECORD_LOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "storage/files.h"

namespace ps {

// Writes a log. Not thread-safe.
class RecordLogWriter {
 public:
  // Creates a new log. `files` is not owned.
  static absl::StatusOr<RecordLogWriter> Create(Files* files,
                                                const std::string& path);

  // Appends a record, which consists of these pieces and survives the process.
  // It must have less than 2^32 bytes. After an error the log takes no more
  // records: the file may end in a part of one.
  absl::Status Append(absl::Span<const absl::string_view> pieces);

  // Makes the appended records survive a loss of power. May run beside Append.
  absl::Status Sync() { return file_->Sync(); }

  int64_t size_bytes() const { return size_bytes_; }

 private:
  friend class RecordLogReader;
  absl::Status TryAppend(absl::Span<const absl::string_view> pieces);
  RecordLogWriter(std::string path, std::unique_ptr<OutputFile> file,
                  int64_t size_bytes);

  std::string path_;
  std::unique_ptr<OutputFile> file_;
  int64_t size_bytes_ = 0;
  absl::Status failure_;
};

// Holds the records of a log in memory.
class RecordLogReader {
 public:
  // Reads a log. Errors: kDataLoss that names the file and the place of the
  // damage; those of the file system.
  static absl::StatusOr<RecordLogReader> Open(Files* files,
                                              const std::string& path);

  // The records, valid as long as this object.
  const std::vector<absl::string_view>& records() const { return records_; }

  // The bytes of an incomplete last record; 0 if there is none.
  int64_t incomplete_bytes() const {
    return static_cast<int64_t>(bytes_->size()) - whole_;
  }

  // Continues to write after the last whole record.
  absl::StatusOr<RecordLogWriter> Continue(Files* files) const;

 private:
  RecordLogReader() = default;
  absl::Status Parse();

  std::string path_;
  // These are on the heap, so that views stay valid when this object moves.
  std::unique_ptr<std::string> bytes_;
  std::vector<absl::string_view> records_;
  int64_t whole_ = 0;  // The bytes up to the end of the last whole record.
};

}  // namespace ps

#endif  // STORAGE_RECORD_LOG_H_
