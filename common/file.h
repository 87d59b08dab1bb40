// Whole files in and out of memory, with errors that name the file.
#ifndef COMMON_FILE_H_
#define COMMON_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

// Errors name the path and the system's reason: kNotFound if it does not exist
// or is a folder, kPermissionDenied, else what absl makes of errno.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// A file that appears under its name complete or not at all, also if the
// machine loses power: written to a temporary name in the same folder, synced,
// renamed over what was there, and the folder synced. Not thread-safe; two
// writers of one path do not disturb each other, and the last to commit wins.
class AtomicFile {
 public:
  // Errors: as of ReadFile; kNotFound if the folder does not exist.
  static absl::StatusOr<AtomicFile> Create(const std::string& path);

  // Without Commit() the temporary is removed and `path` is as it was.
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;

  absl::Status Append(absl::string_view bytes);

  // Replaces bytes that were appended before, from `offset` on: what is known
  // only at the end, such as a count in a header.
  absl::Status Overwrite(int64_t offset, absl::string_view bytes);

  // The last call. On an error the temporary is removed; `path` holds the old
  // file, or the new one if only the folder could not be synced.
  absl::Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary_path, int fd);

  // Closes and removes what is not committed.
  void Abandon();

  std::string path_;
  std::string temporary_path_;
  int fd_ = -1;  // Of the temporary; -1 when committed or moved from.
};

// AtomicFile in one call.
absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view bytes);

}  // namespace ps

#endif  // COMMON_FILE_H_
